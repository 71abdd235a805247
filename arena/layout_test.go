package arena

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecordsRoundTrip(t *testing.T) {
	g, _ := geometryFor(DefaultSize)
	t.Run("slot", func(t *testing.T) {
		want := slot{
			gen: 1 << 60, off: g.objLo + 5*granule, size: 12345, start: 77, host: 1 << 63,
			pid: 1 << 31, uid: 1000, pidns: 4026531836, state: dying, name: strings.Repeat("ü", 31) + "x",
		}
		var b [slotSize]byte
		want.encode(&b)
		var got slot
		if !got.decode(&b, &g) {
			t.Fatal("not sound")
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(slot{})); d != "" {
			t.Error(d)
		}
		for i := range b {
			c := b
			c[i] ^= 0x10
			if got.decode(&c, &g) {
				t.Errorf("sound with byte %d changed", i)
			}
		}
	})
	t.Run("root", func(t *testing.T) {
		want := root{seq: 3, tag: 9, gen: 4, slot: g.slots - 1, off: g.objLo, size: granule, op: opClear}
		var b [lineSize]byte
		want.encode(&b)
		var got root
		if !got.decode(&b, &g, 9) || got != want {
			t.Errorf("%+v became %+v", want, got)
		}
		if got.decode(&b, &g, 8) {
			t.Error("root record of another pool is accepted")
		}
		want.slot = g.slots
		want.encode(&b)
		if got.decode(&b, &g, 9) {
			t.Error("slot outside the table is accepted")
		}
	})
	t.Run("claim", func(t *testing.T) {
		want := claim{host: [16]byte{1, 2}, at: 5, name: strings.Repeat("h", claimName)}
		var b [lineSize]byte
		want.encode(&b)
		var got claim
		if !got.decode(&b) || got != want {
			t.Errorf("%+v became %+v", want, got)
		}
	})
	t.Run("superblock", func(t *testing.T) {
		want := superblock{flags: flagZeroFree, size: g.size, id: [16]byte{7}, created: 1}
		var b [superLen]byte
		want.encode(&b, &g)
		var got superblock
		h, err := got.decode(b[:], g.size)
		if err != nil || got != want || h != g {
			t.Errorf("%+v became %+v, %v", want, got, err)
		}
	})
}

func TestIDText(t *testing.T) {
	const s = "00112233-4455-6677-8899-aabbccddeeff"
	id, ok := parseID(s + "\n")
	if !ok || formatID(id) != s {
		t.Errorf("%v, %v", formatID(id), ok)
	}
	for _, s := range []string{"", "12", s + "00", "x" + s[1:]} {
		if _, ok := parseID(s); ok {
			t.Errorf("%q is an id", s)
		}
	}
}
