package window

import (
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"cmpi/flush"
)

// FuzzControl: whatever stands in the control area, a window's calls touch
// nothing outside its object and its callers' buffers, and end.
func FuzzControl(f *testing.F) {
	f.Add(uint64(1), uint8(0), []byte{1, 2, 3})
	f.Add(uint64(7), uint8(1), []byte{255, 255, 255, 255, 255, 255, 255, 127, 0, 0, 0, 0, 0, 0, 0, 64})
	f.Add(uint64(9), uint8(2), []byte{0})
	f.Fuzz(func(t *testing.T, at uint64, which uint8, noise []byte) {
		s := shapes[int(which)%len(shapes)]
		s.mode = flush.Coherent // what the words do is the same in all modes
		j := newJob(t, 1, s)
		j.size = func(int) int64 { return 256 }
		j.alive = func(int32) bool { return false } // nobody else lives
		j.arenas = j.arenas[:1]
		c := j.config(0, newBarrier(1))
		c.Idle = func(spins int) int { return spins + 1 }
		// A second member, of another domain if there are several, that never
		// comes: what it should write is noise.
		c.Members = append(c.Members, Member{World: 1, Domain: int32(10 + 1%s.domains), Size: 256, DispUnit: 1})
		w := memberless(t, c)
		w.patience = 0
		control := unsafe.Slice((*byte)(w.at(line)), w.lay.data-line)
		for i, x := range noise {
			control[(at+uint64(i))%uint64(len(control))] = x
		}
		buf := make([]byte, 3*64)
		b := data(buf[64:128])
		done := make(chan bool)
		go func() {
			defer close(done)
			for _, r := range []int{0, 1} {
				if w.Lock(LockExclusive, r, 0) == OK {
					w.Put(b, place(r, 3, 64))
					w.Accumulate(b, place(r, 8, 64), OpSum, Int64)
					w.Unlock(r)
				}
			}
			if w.LockAll(0) == OK {
				w.Get(b, place(1, 192, 64))
				w.FetchAndOp(b.Buf, b.Buf, Int32, 1, 3, OpSum)
				w.UnlockAll()
			}
			if w.Start([]int{1}, 0) == OK {
				w.Complete()
			}
			w.Post([]int{1}, 0)
			w.Wait()
			w.pscw.exposed = false
			w.Fence(0)
		}()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatal("hangs")
		}
		for i := range 64 {
			if buf[i] != 0 || buf[128+i] != 0 {
				t.Fatal("written outside the buffer")
			}
		}
	})
}

// memberless makes a window whose other members never come.
func memberless(t testing.TB, c Config) *Window {
	t.Helper()
	lay, ok := newLayout(&c)
	if !ok {
		t.Fatal("layout")
	}
	o, err := c.Arena.Create(c.Name, lay.total)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Destroy() })
	w := &Window{cfg: c, v: c.Arena.View(), lay: lay, n: len(c.Members), rank: c.Rank, domain: lay.domain[c.Rank],
		coherent: lay.domains == 1, exact: !c.LineWrites, obj: o, base: o.Addr()}
	w.init()
	w.openFast()
	return w
}

// TestLost: whoever waits for a member that died learns it, in every kind of
// wait, and within the time that is promised.
func TestLost(t *testing.T) {
	waits := map[string]func(w *Window) Class{
		"fence":          func(w *Window) Class { return w.Fence(0) },
		"start":          func(w *Window) Class { return w.Start([]int{0}, 0) },
		"lock":           func(w *Window) Class { return w.Lock(LockExclusive, 0, 0) },
		"lock shared":    func(w *Window) Class { return w.Lock(LockShared, 0, 0) },
		"lock all":       func(w *Window) Class { return w.LockAll(0) },
		"wait":           func(w *Window) Class { return first(w.Post([]int{0}, 0), w.Wait()) },
		"accumulate":     accumulateLong,
		"lock of reader": func(w *Window) Class { return w.Lock(LockExclusive, 1, 0) },
	}
	for _, s := range []shape{{domains: 1}, {domains: 2}, {mode: flush.Emulate, domains: 2, chaos: 5}} {
		for name, wait := range waits {
			t.Run(s.String()+"/"+name, func(t *testing.T) {
				t.Parallel()
				j := newJob(t, 2, s)
				var dead atomic.Bool
				j.alive = func(world int32) bool { return world != 0 || !dead.Load() }
				bar := newBarrier(2)
				left := make(chan Class, 1)
				go func() {
					w, c := Create(j.config(0, bar))
					if c == OK {
						// Dies in two locks and in the middle of an update.
						c = first(w.Lock(LockExclusive, 0, 0), w.Lock(LockShared, 1, 0))
						if _, c2 := w.enter(1, updateLock); c2 != OK {
							c = c2
						}
					}
					left <- c
				}()
				w, c := Create(j.config(1, bar))
				if c != OK {
					t.Fatal(c)
				}
				if c := <-left; c != OK {
					t.Fatal(c)
				}
				dead.Store(true)
				if name != "fence" { // one kind of wait with the real patience will do
					w.patience = 10 * time.Millisecond
				}
				start := time.Now()
				if c := wait(w); c != ErrLost {
					t.Errorf("%v, want %v", c, ErrLost)
				}
				if d := time.Since(start); d > 5*LostAfter {
					t.Errorf("took %v", d)
				}
			})
		}
	}
}

// accumulateLong updates rank 1's segment, in a kind that takes the update lock.
func accumulateLong(w *Window) Class {
	b := make([]byte, 16)
	return first(w.Lock(LockShared, 1, 0), w.Accumulate(data(b), place(1, 0, 16), OpSum, Complex128))
}

// first is the first class that isn't OK.
func first(cs ...Class) Class {
	for _, c := range cs {
		if c != OK {
			return c
		}
	}
	return OK
}

// TestCreate: no room, a leftover of the same name, wrong arguments, a member
// that was told something else.
func TestCreate(t *testing.T) {
	for _, s := range []shape{{domains: 1}, {domains: 2}, {mode: flush.Emulate, domains: 3, chaos: 5}} {
		t.Run(s.String()+"/no room", func(t *testing.T) {
			j := newJob(t, 3, s)
			j.size = func(int) int64 { return j.pool / 2 }
			j.wants = ErrNoMem
			j.run(nil)
			j.size, j.wants = func(int) int64 { return 64 }, OK
			j.run(func(*Window, func()) error { return nil })
			if infos, err := j.arenas[0].List(); err != nil || len(infos) != 0 {
				t.Errorf("left behind: %v %v", infos, err)
			}
		})
		t.Run(s.String()+"/leftover", func(t *testing.T) {
			j := newJob(t, 3, s)
			if _, err := j.arenas[0].Create(j.name, 1<<20); err != nil {
				t.Fatal(err)
			}
			j.run(func(w *Window, _ func()) error { return must(w.Fence(0)) })
		})
	}
	j := newJob(t, 1, shape{domains: 1})
	for name, change := range map[string]func(c *Config){
		"rank":     func(c *Config) { c.Rank = 1 },
		"negative": func(c *Config) { c.Rank = -1 },
		"nobody":   func(c *Config) { c.Members = nil },
		"size":     func(c *Config) { c.Members[0].Size = -1 },
		"huge":     func(c *Config) { c.Members[0].Size = 1<<63 - 1 },
		"unit":     func(c *Config) { c.Members[0].DispUnit = 0 },
		"barrier":  func(c *Config) { c.Barrier = nil },
		"arena":    func(c *Config) { c.Arena = nil },
	} {
		c := j.config(0, newBarrier(1))
		change(&c)
		if w, cl := Create(c); cl != ErrArg || w != nil {
			t.Errorf("%s: %v, want %v", name, cl, ErrArg)
		}
	}
}

// TestDisagree: a member that was told of other sizes makes all fail.
func TestDisagree(t *testing.T) {
	j := newJob(t, 2, shape{domains: 1})
	bar := newBarrier(2)
	got := make(chan Class, 2)
	for r := range 2 {
		c := j.config(r, bar)
		c.Members[0].DispUnit = int32(1 + r)
		go func() { _, cl := Create(c); got <- cl }()
	}
	for range 2 {
		if c := <-got; c != ErrNoMem {
			t.Errorf("%v, want %v", c, ErrNoMem)
		}
	}
}
