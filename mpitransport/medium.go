package mpitransport

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"cmpi/arena"
	"cmpi/flush"
)

// medium is a memory through which this rank talks to some of its peers: the
// pool, which all ranks of the job share, or memory of this machine, which only
// its neighbours share and which is coherent among them. Each has a root object
// of the same layout, in which its rings are announced.
type medium struct {
	arena    *arena.Arena
	view     *flush.View
	stream   *flush.View // the same for long writes: past the cache, if the CPU can
	base     unsafe.Pointer
	lo       uint64 // offsets of the object area
	hi       uint64
	coherent bool
	eager    int64 // longest message that travels through a ring itself, bytes
	root     *arena.Object
	segs     segments
	rings    uint64  // that this rank has announced here
	lastRing int64   // offset of the one announced last
	descs    []int64 // free descriptors of single copies
}

func newMedium(a *arena.Arena, c *Config) *medium {
	m := &medium{arena: a, view: a.View(), segs: segments{a: a, prefix: fmt.Sprintf("j/%s/%d", c.Job, c.Rank)}}
	if c.Stats != nil {
		m.segs.held = &c.Stats.PoolBytes
	}
	m.stream = m.view.Streaming()
	m.base = m.view.Base()
	lo, hi := a.Bounds()
	m.lo, m.hi = uint64(lo), uint64(hi)
	m.coherent = m.view.Mode() == flush.Coherent
	switch {
	case c.EagerLimit != 0:
		m.eager = int64(c.EagerLimit)
	case m.coherent:
		m.eager = DefaultEagerLimit
	default:
		m.eager = FlaggedEagerLimit
	}
	return m
}

// at is the address of an offset.
func (m *medium) at(off int64) unsafe.Pointer { return unsafe.Add(m.base, off) }

// contains reports whether [off, off+n), read from shared memory, is a
// line-aligned range of the object area.
func (m *medium) contains(off, n uint64) bool {
	return off%line == 0 && off >= m.lo && off <= m.hi && n <= m.hi-off
}

// rootAt is the address of an offset in the root object.
func (m *medium) rootAt(off int64) unsafe.Pointer { return m.at(m.root.Offset() + off) }

// createRoot makes the root object of the job. What an earlier job of the same
// name has left goes.
func (m *medium) createRoot(job string, ranks int, epoch uint64) error {
	name := rootName(job)
	if err := m.arena.Destroy(name); err != nil && !errors.Is(err, arena.ErrNotFound) {
		return fmt.Errorf("removing the root object of an earlier job %q: %w", job, err)
	}
	root, err := m.arena.Create(name, rootSize(ranks))
	if err != nil {
		return fmt.Errorf("creating the job's root object: %w", err)
	}
	m.root = root
	l := rootHeader{magic: rootMagic, version: rootVersion, ranks: uint32(ranks), epoch: epoch}.encode()
	m.view.PutLine(m.rootAt(0), unsafe.Pointer(&l))
	m.view.Fence()
	return nil
}

// openRoot waits until the root object of the job is there, and returns its
// epoch. Unless want is 0, one of another epoch is left from an earlier job.
func (m *medium) openRoot(job string, ranks int, want uint64, deadline time.Time) (epoch uint64, err error) {
	// The first rank may need the processor that the others would look with.
	for nap := napTime; ; nap = min(2*nap, 16*napTime) {
		root, err := m.arena.OpenObject(rootName(job))
		if err == nil {
			m.root = root
			epoch, err := m.readRoot(ranks)
			if err != nil || epoch != 0 && (want == 0 || epoch == want) {
				return epoch, err
			}
		} else if !errors.Is(err, arena.ErrNotFound) {
			return 0, fmt.Errorf("opening the job's root object: %w", err)
		}
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("waiting for the first rank of job %q: %w", job, ErrTimeout)
		}
		osSleep(nap)
	}
}

// readRoot takes the epoch from the root's header; 0 when it is not written yet.
func (m *medium) readRoot(ranks int) (epoch uint64, err error) {
	if m.root.Size() < rootSize(ranks) {
		return 0, fmt.Errorf("root object of %d bytes: %w", m.root.Size(), ErrJob)
	}
	word := m.view.Load64(m.rootAt(flush.LinePayload))
	if word == 0 {
		return 0, nil
	}
	var l [line]byte
	if !m.view.GetLine(unsafe.Pointer(&l), m.rootAt(0), word) {
		return 0, nil
	}
	h := decodeRootHeader(&l)
	if h.magic != rootMagic || h.version != rootVersion || h.epoch != word {
		return 0, ErrJob
	}
	if int(h.ranks) != ranks {
		return 0, fmt.Errorf("the first rank says the job has %d ranks, this rank was told %d: %w", h.ranks, ranks, ErrJob)
	}
	return word, nil
}

func rootName(job string) string { return jobPrefix + job + "/root" }

// getFresh copies a flagged line in which epoch stands. A first look may be
// stale; a second one is not.
func (m *medium) getFresh(l *[line]byte, at unsafe.Pointer, epoch uint64) bool {
	for range 2 {
		if m.view.GetLine(unsafe.Pointer(l), at, epoch) {
			return true
		}
	}
	return false
}

// announce links a ring of rank behind the ones that it opened before and counts
// it.
func (m *medium) announce(rank, ranks int, off int64) {
	if m.lastRing == 0 {
		m.view.Store64(m.rootAt(boardFirst(rank, ranks)), uint64(off))
	} else {
		m.view.Store64(m.at(m.lastRing+ringNextAt), uint64(off))
	}
	m.lastRing = off
	m.rings++
	m.view.Store64(m.rootAt(boardAt(rank, ranks)), m.rings)
}

// joinNear makes or opens the root object of the memory that only neighbours
// share.
func (e *Endpoint) joinNear(deadline time.Time) error {
	if e.near == nil {
		return nil
	}
	e.nearFirst = int32(e.rank)
	for _, r := range e.cfg.Neighbours {
		e.nearFirst = min(e.nearFirst, r)
	}
	var err error
	if e.nearFirst == int32(e.rank) {
		err = e.near.createRoot(e.cfg.Job, e.size, e.epoch)
	} else {
		_, err = e.near.openRoot(e.cfg.Job, e.size, e.epoch, deadline)
	}
	if err != nil {
		return fmt.Errorf("memory of this machine: %w", err)
	}
	for _, r := range e.cfg.Neighbours {
		e.peers[r].medium = e.near
	}
	e.peers[e.rank].medium = e.near
	return nil
}

// AllNear reports whether all of these ranks share the memory of this machine that
// is Config.Near. All of them get the same answer.
func (e *Endpoint) AllNear(ranks []int32) bool {
	if e.near == nil {
		return false
	}
	for _, r := range ranks {
		if e.peers[r].medium != e.near {
			return false
		}
	}
	return true
}

// media calls f for each memory that this rank uses.
func (e *Endpoint) media(f func(*medium)) {
	f(e.pool)
	if e.near != nil {
		f(e.near)
	}
}

// destroySegments gives back what this rank holds of all memories.
func (e *Endpoint) destroySegments() (err error) {
	e.media(func(m *medium) { err = errors.Join(err, m.segs.destroy()) })
	return err
}
