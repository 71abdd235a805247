package probe

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"cmpi/arena"
	"cmpi/flush"
)

// TestRun: three processes' worth of a probe reach one another in every mode.
func TestRun(t *testing.T) {
	for _, mode := range []flush.Mode{flush.Coherent, flush.Flush, flush.Uncached, flush.Emulate} {
		t.Run(mode.String(), func(t *testing.T) {
			const size = 3
			path := filepath.Join(t.TempDir(), "pool")
			reports := make([]Report, size)
			var wg sync.WaitGroup
			for rank := range size {
				wg.Go(func() {
					reports[rank] = Run(Config{
						Pool:  arena.Config{Path: path, Mode: mode, HostID: [16]byte{byte(rank + 1)}, Flush: flush.Options{Seed: uint64(rank + 1), Chaos: -1}},
						Token: "t", Rank: rank, Size: size, Make: true, Timeout: time.Minute,
					})
				})
			}
			wg.Wait()
			for rank, r := range reports {
				if r.Error != "" || r.Rank != rank || r.PoolID != reports[0].PoolID || r.PoolID == "" {
					t.Errorf("%+v", r)
				}
			}
			if len(reports[0].Trips) != size-1 {
				t.Fatalf("%+v", reports[0])
			}
			for _, trip := range reports[0].Trips {
				if trip.Error != "" || trip.Micro <= 0 || trip.SingleCopy != "works" {
					t.Errorf("%+v", trip)
				}
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("the pool that was made is still there")
			}
		})
	}
}

// TestAlone: nobody answers.
func TestAlone(t *testing.T) {
	c := Config{
		Pool:  arena.Config{Path: filepath.Join(t.TempDir(), "pool"), HostID: [16]byte{1}},
		Token: "t", Size: 2, Make: true, Timeout: 10 * time.Millisecond,
	}
	r := Run(c)
	if len(r.Trips) != 1 || r.Trips[0].Error != errLate.Error() {
		t.Errorf("rank 0: %+v", r)
	}
	c.Rank = 1
	if r := Run(c); r.Error == "" {
		t.Errorf("rank 1: %+v", r)
	}
	c.Rank = 2
	if r := Run(c); r.Error == "" {
		t.Errorf("rank 2 of 2: %+v", r)
	}
}

// TestWrongBytes: a line that is not what was sent is told from one that is late.
func TestWrongBytes(t *testing.T) {
	a, err := arena.Open(arena.Config{Path: filepath.Join(t.TempDir(), "pool"), Size: arena.MinSize, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	o, err := a.Create("x", 4*line)
	if err != nil {
		t.Fatal(err)
	}
	send(a.View(), at(o, 1), 5, toPeer)
	if err := receive(a.View(), at(o, 1), 5, toPeer, time.Now()); err != nil {
		t.Error(err)
	}
	if err := receive(a.View(), at(o, 1), 5, fromPeer, time.Now()); err == nil || err == errLate {
		t.Errorf("another message: %v", err)
	}
	if err := receive(a.View(), at(o, 1), 6, toPeer, time.Now()); err != errLate {
		t.Errorf("a message that was not sent: %v", err)
	}
}
