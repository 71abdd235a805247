package window

import (
	"bytes"
	"fmt"
	"testing"
	"unsafe"

	"cmpi/arena"
	"cmpi/flush"
)

// TestSegmentsElsewhere: windows over objects that the members have made before.
func TestSegmentsElsewhere(t *testing.T) {
	for _, s := range []shape{
		{mode: flush.Coherent, domains: 1},
		{mode: flush.Flush, domains: 2},
		{mode: flush.Emulate, domains: 2, chaos: 10},
		{mode: flush.Emulate, domains: 2},
	} {
		t.Run(s.String(), func(t *testing.T) {
			const n, size = 2, 5000
			j := newJob(t, n, s)
			var segments []int64
			objects := make([]*arena.Object, n)
			for r := range n {
				a := j.arenas[r%s.domains]
				o, err := a.Create(fmt.Sprint("memory/", r), size+100)
				if err != nil {
					t.Fatal(err)
				}
				objects[r] = o
				segments = append(segments, o.Offset()+64)
			}
			bar := newBarrier(n)
			errs := make(chan error, n)
			for r := range n {
				go func() {
					c := j.config(r, bar)
					c.Segments = segments
					for i := range c.Members {
						c.Members[i].Size = size
					}
					errs <- aroundSegments(c)
				}()
			}
			for range n {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
			for _, o := range objects {
				if err := o.Destroy(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// aroundSegments puts to the next member and finds what the one before has put. What
// was stored there before the window was made is seen by others, what they put last is
// there when the window is gone.
func aroundSegments(c Config) error {
	before := bytes.Repeat([]byte{byte('A' + c.Rank)}, int(c.Members[c.Rank].Size))
	own := unsafe.Add(c.Arena.View().Base(), c.Segments[c.Rank])
	move(own, ptr(before), int64(len(before)))
	w, class := Create(c)
	if class != OK {
		return class
	}
	n := w.Size()
	base, size, _ := w.Base(w.Rank())
	next := (w.Rank() + 1) % n
	there := make([]byte, size)
	for _, f := range []func() Class{
		func() Class { return w.Lock(LockExclusive, next, 0) },
		func() Class { return w.Get(Data{ptr(there), size, byteType}, Place{next, 0, size, byteType}) },
		func() Class { return w.Unlock(next) },
	} {
		if class := f(); class != OK {
			return class
		}
	}
	if want := byte('A' + next); !bytes.Equal(there, bytes.Repeat([]byte{want}, int(size))) {
		return fmt.Errorf("rank %d: %q… of rank %d, not %q", w.Rank(), there[:4], next, want)
	}
	data := bytes.Repeat([]byte{byte('a' + w.Rank())}, int(size))
	for _, f := range []func() Class{
		func() Class { return w.Fence(0) },
		func() Class {
			return w.Put(Data{ptr(data), size, byteType}, Place{(w.Rank() + 1) % n, 0, size, byteType})
		},
		func() Class { return w.Fence(0) },
	} {
		if class := f(); class != OK {
			return class
		}
	}
	got := make([]byte, size)
	move(ptr(got), base, size)
	if want := byte('a' + (w.Rank()+n-1)%n); !bytes.Equal(got, bytes.Repeat([]byte{want}, int(size))) {
		return fmt.Errorf("rank %d: %q…, not %q", w.Rank(), got[:4], want)
	}
	last := bytes.Repeat([]byte{'z'}, int(size))
	for _, f := range []func() Class{
		func() Class { return w.Fence(0) }, // the others have looked
		func() Class { return w.Lock(LockShared, next, 0) },
		func() Class { return w.Put(Data{ptr(last), size, byteType}, Place{next, 0, size, byteType}) },
		func() Class { return w.Unlock(next) },
		w.Free,
	} {
		if class := f(); class != OK {
			return class
		}
	}
	move(ptr(got), own, size)
	if !bytes.Equal(got, last) {
		return fmt.Errorf("rank %d: %q… after the end of the window, not %q", c.Rank, got[:4], last[:4])
	}
	return nil
}

// TestSegmentsOutside: places that are not in the pool's objects are refused.
func TestSegmentsOutside(t *testing.T) {
	j := newJob(t, 1, shape{mode: flush.Coherent, domains: 1})
	lo, hi := j.arenas[0].Bounds()
	for _, at := range []int64{-1, 0, lo - 1, hi - 4095, hi, 1 << 62} {
		c := j.config(0, newBarrier(1))
		c.Segments = []int64{at}
		if w, class := Create(c); class != ErrArg || w != nil {
			t.Errorf("a segment at %d of [%d, %d): %v", at, lo, hi, class)
		}
	}
	c := j.config(0, newBarrier(1))
	c.Segments = []int64{lo, lo}
	if _, class := Create(c); class != ErrArg {
		t.Errorf("two segments of one member: %v", class)
	}
}
