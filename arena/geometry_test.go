package arena

import (
	"testing"
)

func TestPublishedGeometry(t *testing.T) {
	g, ok := geometryFor(16 << 30)
	if !ok {
		t.Fatal("16 GiB is no pool")
	}
	if first, last := g.buckets[0], g.buckets[levels-1]; first != 199_999 || last != 199_873 {
		t.Errorf("levels have %d … %d buckets, the paper says 199,999 … 199,873", first, last)
	}
	if g.slots != 1_999_260 {
		t.Errorf("%d slots, the paper says 1,999,260", g.slots)
	}
}

func TestGeometry(t *testing.T) {
	for _, c := range []struct {
		size      int64
		published bool
		percent   float64 // metadata at most
	}{
		{MinSize, false, 10},
		{MinSize + 4095, false, 10},
		{2 << 20, false, 6},
		{16 << 20, false, 3},
		{DefaultSize, false, 2},
		{7 << 30, false, 3},
		{8 << 30, true, 3},
		{32 << 30, true, 3},
		{1 << 40, true, 3},
	} {
		g, ok := geometryFor(c.size)
		if !ok {
			t.Errorf("%d: no pool", c.size)
			continue
		}
		if got := g.buckets[0] == publishedTop; got != c.published {
			t.Errorf("%d: published geometry %v", c.size, got)
		}
		if p := float64(g.objLo) / float64(c.size) * 100; p > c.percent {
			t.Errorf("%d: metadata is %.1f %%", c.size, p)
		}
		for i, n := range g.buckets {
			if !isPrime(n) || i > 0 && n >= g.buckets[i-1] {
				t.Errorf("%d: buckets %v", c.size, g.buckets)
			}
		}
		order := []int64{
			superOff, controlOff, hostsOff, presentOff, presentOff + (g.lazyPages+7)/8,
			g.sumOff + g.groups*sumSize, g.hashOff + g.slots*slotSize,
			g.bitmapOff + g.groups*granule, g.objLo + g.granules*granule, c.size,
		}
		for i := 1; i < len(order); i++ {
			if order[i] < order[i-1] {
				t.Errorf("%d: regions overlap: %v", c.size, order)
			}
		}
		if g.objLo%granule != 0 || g.groups*groupGranules < g.granules {
			t.Errorf("%d: %+v", c.size, g)
		}
	}
	for _, size := range []int64{-1, 0, 1, MinSize - 1, 1 << 60} {
		if _, ok := geometryFor(size); ok {
			t.Errorf("%d bytes make a pool", size)
		}
	}
}

// TestTableLoad tells how full the table gets before a name finds all its
// buckets taken; docs/arena.md quotes it.
func TestTableLoad(t *testing.T) {
	g, _ := geometryFor(64 << 20)
	taken := map[int64]bool{}
	n := 0
names:
	for {
		h := nameHash("job 42 ring " + string(rune('a'+n%26)) + formatID([16]byte{byte(n), byte(n >> 8)}))
		for level := range levels {
			if i := g.candidate(h, level); !taken[i] {
				taken[i] = true
				n++
				continue names
			}
		}
		break
	}
	load := float64(n) / float64(g.slots)
	t.Logf("%d of %d slots taken (%.0f %%) when the first name fits nowhere", n, g.slots, load*100)
	if load < 0.5 {
		t.Errorf("table is full at %.2f", load)
	}
}
