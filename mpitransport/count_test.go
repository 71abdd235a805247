package mpitransport

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cmpi/stats"
)

// TestCounters: messages are counted once, by protocol, at both ends.
func TestCounters(t *testing.T) {
	const small, medium, large = 8, 40_000, 600_000
	for _, tc := range []struct {
		name  string
		shape Config
		want  stats.Pair // what rank 0 has sent to rank 1
	}{
		{"staged", Config{NoSingleCopy: true},
			stats.Pair{Eager: stats.Traffic{Count: 3, Bytes: 3 * small}, Staged: stats.Traffic{Count: 2, Bytes: medium + large}}},
		{"single copy", Config{SingleCopyMin: large},
			stats.Pair{Eager: stats.Traffic{Count: 3, Bytes: 3 * small}, Staged: stats.Traffic{Count: 1, Bytes: medium}, Single: stats.Traffic{Count: 1, Bytes: large}}},
		{"eager", Config{EagerLimit: 1 << 20},
			stats.Pair{Eager: stats.Traffic{Count: 5, Bytes: 3*small + medium + large}}},
	} {
		for _, mode := range modes {
			if tc.name == "single copy" && mode != modes[0] {
				continue // in coherent memory only
			}
			t.Run(fmt.Sprintf("%s/%v", tc.name, mode), func(t *testing.T) {
				j := newJob(t, 2, mode)
				j.shape = tc.shape
				var mu sync.Mutex
				tables := map[int]*stats.Table{}
				j.config = func(rank int, c *Config) {
					tab, err := stats.New(c.Arena, c.Job, rank, c.Size)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					c.Stats, tables[rank] = tab, tab
				}
				j.run(func(e *Endpoint, w *Comm) error {
					tab := e.cfg.Stats
					if e.Rank() == 0 {
						for i, n := range []int{small, small, small, medium, large} {
							m := Standard
							if i == 1 {
								m = Sync
							}
							if err := send(e, w, pattern(n, i), 1, i, m); err != nil {
								return err
							}
						}
						if d := cmp.Diff(tc.want, tab.Pairs[1]); d != "" {
							return fmt.Errorf("sent (-want +got)\n%s", d)
						}
					} else {
						buf := make([]byte, large)
						// The last first: the others come before their receive.
						for _, tag := range []int{1, 4, 3, 2, 0} {
							if _, err := recv(e, w, buf, 0, tag); err != nil {
								return err
							}
						}
						want := stats.Pair{Received: stats.Traffic{Count: 5, Bytes: 3*small + medium + large}}
						if d := cmp.Diff(want, tab.Pairs[0]); d != "" {
							return fmt.Errorf("received (-want +got)\n%s", d)
						}
						if tab.Unexpected == 0 || tab.RingsIn != 1 {
							return fmt.Errorf("%d unexpected, %d rings in", tab.Unexpected, tab.RingsIn)
						}
					}
					if e.Rank() == 0 && (tab.PoolBytes < segmentSize || tab.RingsOut != 1 || tab.Yields+tab.Naps == 0) {
						return fmt.Errorf("%d bytes of the pool, %d rings, %d yields, %d naps", tab.PoolBytes, tab.RingsOut, tab.Yields, tab.Naps)
					}
					return nil
				})
			})
		}
	}
}

// TestCountersSelf: a message to oneself is sent and received.
func TestCountersSelf(t *testing.T) {
	j := newJob(t, 1, modes[0])
	j.config = func(rank int, c *Config) { c.Stats, _ = stats.New(c.Arena, c.Job, rank, c.Size) }
	j.run(func(e *Endpoint, w *Comm) error {
		if err := send(e, w, pattern(10, 0), 0, 0, Standard); err != nil {
			return err
		}
		if _, err := recv(e, w, make([]byte, 10), 0, 0); err != nil {
			return err
		}
		want := stats.Pair{Eager: stats.Traffic{Count: 1, Bytes: 10}, Received: stats.Traffic{Count: 1, Bytes: 10}}
		if d := cmp.Diff(want, e.cfg.Stats.Pairs[0]); d != "" {
			return fmt.Errorf("(-want +got)\n%s", d)
		}
		return nil
	})
}
