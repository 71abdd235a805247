package flush

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// TestCopyExact: every offset in a line and every length up to two lines arrive,
// and the bytes around stay what they are.
func TestCopyExact(t *testing.T) {
	eachVariant(t, 1<<14, func(t *testing.T, w, r *View) {
		if !w.Exact() {
			t.Skip("no exact stores")
		}
		src := make([]byte, 256)
		want := make([]byte, 5*LineSize)
		got := make([]byte, len(want))
		for off := range LineSize {
			for n := 1; n <= 2*LineSize+1; n += 1 + n/20 {
				for i := range src {
					src[i] = byte(off*7 + n*13 + i)
				}
				w.CopyExact(at(w, LineSize+off), ptr(src[off%3:]), n)
				w.Fence()
				copy(want[LineSize+off:], src[off%3:off%3+n])
				r.CopyOut(ptr(got), at(r, 0), len(got))
				if d := diff(want, got); d != "" {
					t.Fatalf("offset %d, %d bytes (-want +got):\n%s", off, n, d)
				}
			}
		}
	})
}

// TestExactNeighbours: hosts that write different bytes of the same lines at one
// time lose nothing.
func TestExactNeighbours(t *testing.T) {
	const hosts = 4
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			shared := sharedMemory(t, 1<<14)
			views := make([]*View, hosts)
			for i := range views {
				o := v.o
				o.Seed += uint64(i) * 1000
				views[i] = newView(t, shared, v.mode, o)
			}
			if !views[0].Exact() {
				t.Skip("no exact stores")
			}
			exactNeighbours(t, views, v.o.Seed)
		})
	}
}

func exactNeighbours(t *testing.T, views []*View, seed uint64) {
	const size = 16 * LineSize
	hosts := len(views)
	// Who owns which byte: runs of 1 to 20.
	owner := make([]int, size)
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := 0; i < size; {
		o, n := rng.IntN(hosts), 1+rng.IntN(20)
		for ; n > 0 && i < size; n, i = n-1, i+1 {
			owner[i] = o
		}
	}
	want := make([]byte, size)
	for i := range want {
		want[i] = byte(i*3 + 5)
	}
	var wg sync.WaitGroup
	for h, w := range views {
		wg.Go(func() {
			for round := range 20 {
				data := make([]byte, size)
				for i := range data {
					data[i] = want[i] + byte(19-round)
				}
				for i := 0; i < size; {
					n := 1
					for i+n < size && owner[i+n] == owner[i] {
						n++
					}
					if owner[i] == h {
						w.CopyExact(at(w, i), ptr(data[i:]), n)
					}
					i += n
				}
				w.Fence()
			}
		})
	}
	wg.Wait()
	got := make([]byte, size)
	views[0].CopyOut(ptr(got), at(views[0], 0), size)
	if d := diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
