package mpitransport

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// TestWatch: a rank that gives no more signs of life is found, by every other
// rank and nobody else is; one that has left the job is not missed.
func TestWatch(t *testing.T) {
	const size, victim = 3, 1
	for _, m := range modes {
		t.Run(m.String(), func(t *testing.T) {
			j := newJob(t, size, m)
			j.host = func(rank int) [16]byte { return [16]byte{byte(1 + rank)} } // no kernel to ask
			var found [size][size]atomic.Int32
			j.config = func(rank int, c *Config) {
				c.DeadAfter = 500 * time.Millisecond
				c.Dead = func(dead int32, silent time.Duration) {
					if silent < c.DeadAfter {
						t.Errorf("rank %d is said to be dead after %v", dead, silent)
					}
					found[rank][dead].Add(1)
				}
			}
			j.run(func(e *Endpoint, w *Comm) error {
				if err := e.Barrier(); err != nil {
					return err
				}
				if e.Rank() == victim { // its heart stops
					close(e.watcher.stop)
					<-e.watcher.done
					e.watcher = nil
				}
				limit := time.Now().Add(30 * time.Second)
				for time.Now().Before(limit) && (found[0][victim].Load() == 0 || found[2][victim].Load() == 0) {
					time.Sleep(10 * time.Millisecond)
				}
				return e.Barrier()
			})
			for r := range size {
				for dead := range size {
					if want := dead == victim && r != victim; (found[r][dead].Load() > 0) != want {
						t.Errorf("rank %d found rank %d dead: %v, want %v", r, dead, !want, want)
					}
				}
			}
		})
	}
}

// TestSilent has a rank's look at another step by step.
func TestSilent(t *testing.T) {
	j := newJob(t, 2, modes[0])
	j.host = func(rank int) [16]byte { return [16]byte{byte(1 + rank)} }
	j.config = func(rank int, c *Config) {
		if rank == 0 { // the other line is the test's to write
			c.DeadAfter, c.Dead = time.Hour, func(int32, time.Duration) {}
		}
	}
	j.run(func(e *Endpoint, w *Comm) error {
		defer func() { _ = e.Barrier() }()
		if e.Rank() != 0 {
			return nil
		}
		put := func(word uint64) { e.pool.view.Store64(e.pool.rootAt(beatAt(1, 2)), word) }
		var s sign
		at := time.Unix(1000, 0)
		for _, step := range []struct {
			what  string
			word  uint64
			after time.Duration
			awake bool
			dead  bool
		}{
			{"first look", e.beatWord(1), 0, true, false},
			{"not yet", e.beatWord(1), 59 * time.Minute, true, false},
			{"another number", e.beatWord(2), 2 * time.Minute, true, false},
			{"silent for an hour", e.beatWord(2), time.Hour, true, true},
			{"this rank did not run either", e.beatWord(2), time.Hour, false, false},
			{"not long since", e.beatWord(2), time.Minute, true, false},
			{"silent again", e.beatWord(2), time.Hour, true, true},
			{"left", e.beatWord(beatLeft), time.Minute, true, false},
			{"left long since", e.beatWord(beatLeft), 9 * time.Hour, true, false},
		} {
			put(step.word)
			at = at.Add(step.after)
			if got := e.silent(1, &s, at, step.awake); got != step.dead {
				return fmt.Errorf("%s: dead %v, want %v", step.what, got, step.dead)
			}
		}
		return nil
	})
}
