package mpitransport

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"cmpi/arena"
	"cmpi/flush"
	"cmpi/ringq"
)

// ranksPerHost is how the simulated jobs are spread.
const ranksPerHost = 64

// crowd is a job of which only rank 0 is real. The others have joined and are
// silent until they are made to speak.
type crowd struct {
	e      *Endpoint
	w      *Comm
	others *Endpoint // plays them all, one at a time
	heap   uint64    // bytes of Go memory that rank 0 took
}

func newCrowd(t testing.TB, n int, mode flush.Mode, pool int64) *crowd {
	path := filepath.Join(shmDir(t), "pool")
	a, err := arena.Open(arena.Config{Path: path, Size: pool, Create: true, Mode: mode, HostID: [16]byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	host := func(r int) [16]byte {
		if mode == flush.Coherent {
			return [16]byte{1}
		}
		return [16]byte{1, byte(r / ranksPerHost)}
	}
	c := &crowd{others: &Endpoint{size: n, cfg: Config{Arena: a, Job: "crowd", RingLines: 64}}}
	o := c.others
	o.pool = newMedium(a, &o.cfg)
	joined := make(chan error, 1)
	go func() { // ranks 1 to n-1
		epoch, err := o.pool.openRoot("crowd", n, 0, time.Now().Add(time.Minute))
		o.epoch = epoch
		for r := 1; r < n && err == nil; r++ {
			l := rankInfo{host: host(r)}.encode(epoch)
			o.pool.view.PutLine(o.pool.rootAt(infoAt(r, n)), unsafe.Pointer(&l))
			o.pool.view.Store64(o.pool.rootAt(barrierAt(r, n)), o.barrierWord(1))
		}
		joined <- err
	}()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c.e, err = New(Config{Size: n, Arena: a, Job: "crowd", Host: host(0), RingLines: 64})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-joined; err != nil {
		t.Fatal(err)
	}
	ranks := make([]int32, n)
	for i := range ranks {
		ranks[i] = int32(i)
	}
	c.w = c.e.NewComm(1, 0, ranks, nil)
	runtime.GC()
	runtime.ReadMemStats(&after)
	c.heap = after.HeapAlloc - before.HeapAlloc
	for r := range n {
		o.peers = append(o.peers, peer{info: rankInfo{host: host(r)}, medium: o.pool})
	}
	o.peers[0].fast = new(FastPeer)
	return c
}

// open makes rank r open its ring to rank 0.
func (c *crowd) open(t testing.TB, r int) ringq.Producer {
	t.Helper()
	o := c.others
	o.rank = r
	o.ownBell[0] = bellAt(int(o.bellOf(o.pool, int32(r))), o.size)
	o.pool.rings, o.pool.lastRing = 0, 0
	p := &o.peers[0]
	p.out, p.fast = nil, new(FastPeer)
	if cl := o.openRing(p); cl != OK {
		t.Fatal(cl)
	}
	return p.out
}

// TestFirstMessage: a rank hears from any other of 4096, on this host or another,
// within few passes: a bell per host is looked at, not a board per rank.
func TestFirstMessage(t *testing.T) {
	const n = 4096
	for _, mode := range []flush.Mode{flush.Coherent, flush.Flush} {
		t.Run(mode.String(), func(t *testing.T) {
			c := newCrowd(t, n, mode, 256<<20)
			most := bellEvery*(n/ranksPerHost) + 1
			if mode == flush.Coherent {
				most = bellEvery + 1
			}
			for _, r := range []int{1, 63, 64, 2000, 4095} {
				out := c.open(t, r)
				if _, ok := out.Begin(ringq.Header{Kind: uint8(msgEager), Ctx: 1, Tag: 7}, nil, 0); !ok {
					t.Fatal("the ring is full")
				}
				passes := 0
				for !c.e.Progress() {
					if passes++; passes > most {
						t.Fatalf("rank %d is not heard after %d passes", r, passes)
					}
				}
				if st, cl := c.e.Probe(c.w, int32(r), 7); cl != OK || st.Source != int32(r) {
					t.Fatalf("rank %d: %+v, %v", r, st, cl)
				}
			}
		})
	}
}

// BenchmarkProgress is the cost of a pass that finds nothing, by the number of
// ranks in the job: all silent, or all with a ring to this rank that is empty. It
// also reports the memory that a rank takes for each other rank: of its own, and
// of the pool's root object.
func BenchmarkProgress(b *testing.B) {
	for _, mode := range []flush.Mode{flush.Coherent, flush.Flush} {
		for _, rings := range []bool{false, true} {
			for _, n := range []int{2, 8, 64, 512, 4096} {
				what := "silent"
				if rings {
					what = "rings"
				}
				b.Run(fmt.Sprintf("%v/%s/ranks=%d", mode, what, n), func(b *testing.B) {
					c := newCrowd(b, n, mode, 256<<20)
					if rings {
						for r := 1; r < n; r++ {
							c.open(b, r)
						}
						for c.e.Stats().RingsIn < n-1 {
							c.e.Progress()
						}
					}
					for b.Loop() {
						c.e.Progress()
					}
					b.ReportMetric(float64(c.heap)/float64(n), "own-B/rank")
					b.ReportMetric(float64(rootSize(n))/float64(n), "pool-B/rank")
				})
			}
		}
	}
}
