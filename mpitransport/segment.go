package mpitransport

import (
	"fmt"
	"sort"
	"time"

	"cmpi/arena"
)

// segments is a rank's private stock of pool memory: objects of the arena,
// taken when needed, from which rings, staging blocks and descriptors are cut.
// All bookkeeping is in this process, so that no lock and nothing untrusted is
// involved; the pool's own lock is taken once per object.
type segments struct {
	a      *arena.Arena
	prefix string
	made   int
	segs   []*segment
	held   *uint64 // what of all memories is held, bytes; nil if nobody asks
	told   uint64  // this one's part of it
}

type segment struct {
	obj  *arena.Object
	free []extent  // sorted by off, never adjacent
	idle int64     // free bytes
	last time.Time // when it became wholly free
}

// extent is a range of the pool.
type extent struct{ off, len int64 }

const (
	// segmentSize is the least that is taken from the arena at once, at first:
	// room for the rings of a dozen peers, little beside the pool's default
	// 1 GiB. It doubles with each segment up to maxSegment, so that a rank that
	// stages much has few.
	segmentSize = 1 << 20
	maxSegment  = 8 << 20
	// idleLimit is how many free bytes a rank keeps for good. Wholly free
	// segments beyond that go back to the arena when nothing has used them for
	// idleTime: giving them back at once would make each burst of large
	// messages pay for fresh pages, which takes longer than the copy.
	idleLimit = 8 << 20
	idleTime  = 200 * time.Millisecond
)

func roundLine(n int64) int64 { return (n + line - 1) &^ (line - 1) }

// alloc cuts n bytes, aligned to a cache line. The memory is zero only when
// fresh from the arena.
func (s *segments) alloc(n int64) (off int64, err error) {
	n = roundLine(n)
	for _, g := range s.segs {
		if off, ok := g.take(n); ok {
			return off, nil
		}
	}
	name := fmt.Sprintf("%s/%d", s.prefix, s.made)
	obj, err := s.a.Create(name, max(n, min(int64(segmentSize)<<min(len(s.segs), 8), maxSegment)))
	if err != nil {
		// In a pool that is nearly full, just what is needed.
		obj, err = s.a.Create(name, n)
	}
	if err != nil {
		return 0, err
	}
	s.made++
	g := &segment{obj: obj, free: []extent{{obj.Offset(), obj.Size() &^ (line - 1)}}, idle: obj.Size() &^ (line - 1)}
	s.segs = append(s.segs, g)
	s.tell()
	off, _ = g.take(n)
	return off, nil
}

func (g *segment) take(n int64) (int64, bool) {
	if g.idle < n {
		return 0, false
	}
	for i := range g.free {
		f := &g.free[i]
		if f.len < n {
			continue
		}
		off := f.off
		f.off += n
		f.len -= n
		g.idle -= n
		if f.len == 0 {
			g.free = append(g.free[:i], g.free[i+1:]...)
		}
		return off, true
	}
	return 0, false
}

// release gives back what alloc cut.
func (s *segments) release(off, n int64) {
	for _, g := range s.segs {
		if off >= g.obj.Offset() && off < g.obj.Offset()+g.obj.Size() {
			if g.put(off, roundLine(n)); g.whole() {
				g.last = time.Now()
			}
			return
		}
	}
}

// whole reports that nothing of the segment is in use.
func (g *segment) whole() bool { return g.idle == g.obj.Size()&^(line-1) }

// trim gives segments that have long been free back to the arena.
func (s *segments) trim() {
	idle := s.idle()
	if idle <= idleLimit {
		return
	}
	keep := s.segs[:0]
	for _, g := range s.segs {
		if g.whole() && idle > idleLimit && time.Since(g.last) > idleTime {
			// Failure leaves the object to the owner's clean-up.
			_ = g.obj.Destroy()
			idle -= g.idle
		} else {
			keep = append(keep, g)
		}
	}
	clear(s.segs[len(keep):])
	s.segs = keep
	s.tell()
}

func (s *segments) tell() {
	if s.held != nil {
		now := uint64(s.bytes())
		*s.held += now - s.told
		s.told = now
	}
}

func (s *segments) idle() (n int64) {
	for _, g := range s.segs {
		n += g.idle
	}
	return n
}

func (g *segment) put(off, n int64) {
	i := sort.Search(len(g.free), func(i int) bool { return g.free[i].off > off })
	g.free = append(g.free, extent{})
	copy(g.free[i+1:], g.free[i:])
	g.free[i] = extent{off, n}
	g.idle += n
	if i+1 < len(g.free) && off+n == g.free[i+1].off {
		g.free[i].len += g.free[i+1].len
		g.free = append(g.free[:i+1], g.free[i+2:]...)
	}
	if i > 0 && g.free[i-1].off+g.free[i-1].len == off {
		g.free[i-1].len += g.free[i].len
		g.free = append(g.free[:i], g.free[i+1:]...)
	}
}

// destroy gives everything back to the arena.
func (s *segments) destroy() error {
	var first error
	for _, g := range s.segs {
		if err := g.obj.Destroy(); err != nil && first == nil {
			first = err
		}
	}
	s.segs = nil
	return first
}

// bytes is what the rank holds of the pool.
func (s *segments) bytes() (n int64) {
	for _, g := range s.segs {
		n += g.obj.Size()
	}
	return n
}
