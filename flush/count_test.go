package flush

import (
	"testing"
)

// TestCount: each primitive counts the lines that it moves, in every mode but
// Coherent; nothing is dropped from an uncached mapping.
func TestCount(t *testing.T) {
	for _, tc := range []struct {
		mode Mode
		want Counts
	}{
		{Coherent, Counts{}},
		{Flush, Counts{Published: 1 + 3 + 1 + 4, Invalidated: 1 + 1 + 2 + 4}},
		{Uncached, Counts{Published: 1 + 3 + 1 + 4}},
		{Emulate, Counts{Published: 1 + 3 + 1 + 4, Invalidated: 1 + 1 + 2 + 4}},
	} {
		t.Run(tc.mode.String(), func(t *testing.T) {
			v := newView(t, sharedMemory(t, 4096), tc.mode, Options{})
			var c Counts
			v.Count(&c)
			var buf [4 * LineSize]byte
			v.PutLine(at(v, 0), ptr(buf[:]))
			v.PutLines(at(v, 0), ptr(buf[:]), 2*LinePayload+1, 7)
			v.Store64(at(v, 512), 1)
			v.CopyIn(at(v, 1024), ptr(buf[:]), len(buf))
			v.Fence()
			if v.GetLine(ptr(buf[:]), at(v, 2048), 99) {
				t.Fatal("a line that nobody has written")
			}
			v.Load64(at(v, 512))
			v.Invalidate(at(v, 2048+60), 8)
			v.CopyOut(ptr(buf[:]), at(v, 1024), len(buf))
			if c != tc.want {
				t.Errorf("got %+v, want %+v", c, tc.want)
			}
			v.Count(nil)
			v.PutLine(at(v, 0), ptr(buf[:]))
			if c != tc.want {
				t.Error("it goes on counting")
			}
		})
	}
}
