package flush

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// eachVariant runs f with a writer's and a reader's View of the same memory.
func eachVariant(t *testing.T, size int, f func(t *testing.T, w, r *View)) {
	for _, va := range variants() {
		t.Run(va.name, func(t *testing.T) {
			m := sharedMemory(t, size)
			w := newView(t, m, va.mode, va.o)
			o := va.o
			o.Seed += 1000
			f(t, w, newView(t, m, va.mode, o))
		})
	}
}

// fill returns n reproducible bytes.
func fill(seed uint64, n int) []byte {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	b := make([]byte, n)
	rand.NewChaCha8(key).Read(b)
	return b
}

func TestLine(t *testing.T) { eachVariant(t, 1<<16, lineRoundTrip) }

func lineRoundTrip(t *testing.T, w, r *View) {
	for i := range 200 {
		off := i % 7 * LineSize
		src, dst := fill(uint64(i), LineSize+8)[i%8:][:LineSize], make([]byte, LineSize)
		want := uint64(i + 1)
		*(*uint64)(unsafe.Pointer(&src[wordOffset])) = want
		if r.GetLine(ptr(dst), at(r, off), want) {
			t.Fatalf("line %d seen before it was published", i)
		}
		if d := diff(make([]byte, LineSize), dst); d != "" {
			t.Fatalf("a miss wrote to dst:\n%s", d)
		}
		w.PutLine(at(w, off), ptr(src))
		w.Fence()
		if !looks(2, func() bool { return r.GetLine(ptr(dst), at(r, off), want) }) {
			t.Fatalf("line %d not seen at the second look after the fence", i)
		}
		if d := diff(src, dst); d != "" {
			t.Fatalf("line %d (-put +got):\n%s", i, d)
		}
	}
}

func TestLines(t *testing.T) { eachVariant(t, 1<<16, linesRoundTrip) }

func linesRoundTrip(t *testing.T, w, r *View) {
	word := uint64(1)
	for _, n := range []int{1, 7, 8, 55, 56, 57, 112, 113, 448, 1000, 4096} {
		src, dst := fill(uint64(n), n+1)[1:], make([]byte, n+16)
		lines := (n + LinePayload - 1) / LinePayload
		if got := r.GetLines(ptr(dst), at(r, 0), n, word); got != 0 {
			t.Fatalf("n=%d: %d bytes before anything was published", n, got)
		}
		if got := w.PutLines(at(w, 0), ptr(src), n, word); got != lines {
			t.Fatalf("n=%d: PutLines = %d, want %d", n, got, lines)
		}
		w.Fence()
		got, looks := 0, 0
		for ; got < n && looks < 2*lines+1; looks++ {
			got += r.GetLines(unsafe.Add(ptr(dst), got), at(r, got/LinePayload*LineSize), n-got, word+uint64(got/LinePayload))
		}
		if got != n {
			t.Fatalf("n=%d: only %d bytes after %d looks", n, got, looks)
		}
		if d := diff(append(src, make([]byte, 16)...), dst); d != "" {
			t.Fatalf("n=%d (-put +got):\n%s", n, d)
		}
		word += uint64(lines)
	}
}

// TestLinesStop checks that GetLines ends at the first line that does not match.
func TestLinesStop(t *testing.T) {
	eachVariant(t, 1<<16, func(t *testing.T, w, r *View) {
		src, dst := fill(1, 10*LinePayload), make([]byte, 10*LinePayload)
		w.PutLines(at(w, 0), ptr(src), 4*LinePayload, 1)
		w.Fence()
		r.Invalidate(at(r, 0), 10*LineSize)
		if got, want := r.GetLines(ptr(dst), at(r, 0), 10*LinePayload, 1), 4*LinePayload; got != want {
			t.Fatalf("GetLines = %d, want %d", got, want)
		}
		if d := diff(append(src[:4*LinePayload:4*LinePayload], make([]byte, 6*LinePayload)...), dst); d != "" {
			t.Fatalf("(-put +got):\n%s", d)
		}
	})
}

func TestCopy(t *testing.T) { eachVariant(t, 1<<18, copyRoundTrip) }

func copyRoundTrip(t *testing.T, w, r *View) {
	seed := uint64(20260101)
	t.Logf("data seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, n := range []int{0, 1, 7, 8, 63, 64, 65, 127, 128, 1000, 4096, 4097, 70000} {
		for range 4 {
			off, so, do := 64+rng.IntN(LineSize), rng.IntN(LineSize), rng.IntN(LineSize)
			src, dst := fill(uint64(n), n+LineSize)[so:], make([]byte, n+2*LineSize)
			w.CopyIn(at(w, off), ptr(src), n)
			w.Fence()
			r.CopyOut(ptr(dst[do:]), at(r, off), n)
			want := make([]byte, len(dst))
			copy(want[do:], src[:n])
			if d := diff(want, dst); d != "" {
				t.Fatalf("n=%d off=%d src+%d dst+%d (-want +got):\n%s", n, off, so, do, d)
			}
		}
	}
}

func TestWords(t *testing.T) {
	eachVariant(t, 1<<16, func(t *testing.T, w, r *View) {
		for i := uint64(1); i < 100; i++ {
			p := int(i%5) * 8
			w.Store64(at(w, p), i)
			if got := r.Load64(at(r, p)); got != i {
				t.Fatalf("Load64 = %d after Store64(%d)", got, i)
			}
			if got := r.Peek64(at(r, p)); got != i {
				t.Fatalf("Peek64 = %d after Load64 = %d", got, i)
			}
		}
	})
}

// TestPlainStores checks WriteBack, Fence and Invalidate around plain accesses.
func TestPlainStores(t *testing.T) {
	eachVariant(t, 1<<16, func(t *testing.T, w, r *View) {
		for i := range 50 {
			b := fill(uint64(i), 300)
			copy(unsafe.Slice((*byte)(at(w, 100)), 300), b)
			w.WriteBack(at(w, 100), 300)
			w.Fence()
			r.Invalidate(at(r, 100), 300)
			if d := diff(b, unsafe.Slice((*byte)(at(r, 100)), 300)); d != "" {
				t.Fatalf("round %d (-stored +loaded):\n%s", i, d)
			}
		}
	})
}

func TestModeNames(t *testing.T) {
	for m := Coherent; m <= Emulate; m++ {
		got, err := ParseMode(m.String())
		if err != nil || got != m {
			t.Errorf("ParseMode(%q) = %v, %v", m.String(), got, err)
		}
	}
	if _, err := ParseMode("auto"); !errors.Is(err, ErrMode) {
		t.Errorf("ParseMode(auto) = %v, want ErrMode", err)
	}
}

func TestNewViewErrors(t *testing.T) {
	m := sharedMemory(t, 4096)
	for _, c := range []struct {
		name   string
		shared []byte
		mode   Mode
		want   error
	}{
		{"empty", nil, Coherent, ErrShared},
		{"odd size", m[:100], Coherent, ErrShared},
		{"unaligned", m[8:72], Flush, ErrShared},
		{"no such mode", m, Emulate + 1, ErrMode},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := NewView(c.shared, c.mode, Options{}); !errors.Is(err, c.want) {
				t.Errorf("NewView = %v, want %v", err, c.want)
			}
		})
	}
}
