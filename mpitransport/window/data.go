package window

import (
	"unsafe"

	"cmpi/mpitransport/datatype"
)

// scratch is where data that is contiguous on neither side is packed, in pieces
// that stay in the first-level cache.
type scratch struct {
	a, b [scratchSize]byte
	runs [scratchRuns]datatype.Segment
}

const (
	scratchSize = 16 << 10
	scratchRuns = 64
)

// side is one side of an operation, checked. Its bytes are those of the packed
// stream of count elements at buf.
type side struct {
	buf    unsafe.Pointer
	count  int64
	typ    *datatype.Type
	contig bool
	run    unsafe.Pointer // start of the only run, if contig
	total  int64          // bytes
}

// shapeOf checks count elements of a type and says where the run starts, if they
// are one.
func shapeOf(count int64, t *datatype.Type) (s side, off int64, c Class) {
	if count < 0 {
		return s, 0, ErrCount
	}
	if t == nil || t.Err() != nil {
		return s, 0, ErrType
	}
	s.count, s.typ = count, t
	if off, s.total, s.contig = t.Contig(count); s.contig {
		return s, off, OK
	}
	var err error
	if s.total, err = t.Total(count); err != nil {
		return s, 0, ErrCount
	}
	return s, 0, OK
}

// local checks a buffer of the origin.
func local(d Data) (side, Class) {
	s, off, c := shapeOf(d.Count, d.Type)
	s.buf = d.Buf
	if s.contig && s.total > 0 {
		s.run = unsafe.Add(d.Buf, off)
	}
	return s, c
}

// remote checks the target side: it must lie in the target's segment, and an
// epoch must be open. skip says that there is nothing to do.
func (w *Window) remote(p Place) (s side, skip bool, c Class) {
	if p.Rank == ProcNull {
		return s, true, OK
	}
	if p.Rank < 0 || p.Rank >= w.n {
		return s, false, ErrRank
	}
	f := &w.fast[p.Rank]
	if f.closed() {
		return s, false, ErrSync
	}
	if p.Disp < 0 {
		return s, false, ErrDisp
	}
	s, off, c := shapeOf(p.Count, p.Type)
	if c != OK {
		return s, false, c
	}
	if s.total == 0 {
		return s, true, OK
	}
	m := &w.cfg.Members[p.Rank]
	unit := int64(m.DispUnit)
	if p.Disp > m.Size/unit {
		return s, false, ErrRange
	}
	start := p.Disp * unit
	if s.contig {
		if room := m.Size - start; off < -start || s.total > room || off > room-s.total {
			return s, false, ErrRange
		}
		s.buf = unsafe.Add(w.segment(p.Rank), start)
		s.run = unsafe.Add(s.buf, off)
		f.use()
		return s, false, OK
	}
	// The first and last byte of data among count elements; Total has made sure
	// that this doesn't overflow.
	lo, hi := p.Type.TrueLB(), p.Type.TrueLB()+p.Type.TrueExtent()
	if span := (p.Count - 1) * p.Type.Extent(); span < 0 {
		lo += span
	} else {
		hi += span
	}
	if lo < -start || hi > m.Size-start {
		return s, false, ErrRange
	}
	s.buf = unsafe.Add(w.segment(p.Rank), start)
	f.use()
	return s, false, OK
}

// quick checks the common case, one run on both sides, in a third of the time. It
// returns the runs and their length, 0 if the case is another one or wrong.
func (w *Window) quick(d *Data, p *Place) (near, far unsafe.Pointer, n int64) {
	if uint(p.Rank) >= uint(w.n) || d.Type == nil || p.Type == nil || d.Count <= 0 || p.Count <= 0 {
		return nil, nil, 0
	}
	f := &w.fast[p.Rank]
	m := &w.cfg.Members[p.Rank]
	unit := int64(m.DispUnit)
	from, n, ok := d.Type.Contig(d.Count)
	to, same, ok2 := p.Type.Contig(p.Count)
	if f.closed() || !ok || !ok2 || n != same || n <= 0 || p.Disp < 0 || p.Disp > m.Size/unit {
		return nil, nil, 0
	}
	start := p.Disp * unit
	if room := m.Size - start; to < -start || n > room || to > room-n {
		return nil, nil, 0
	}
	f.use()
	return unsafe.Add(d.Buf, from), unsafe.Add(w.segment(p.Rank), start+to), n
}

// pair checks both sides of an operation.
func (w *Window) pair(d Data, p Place) (o, t side, skip bool, c Class) {
	t, skip, c = w.remote(p)
	if c != OK || p.Rank == ProcNull {
		return o, t, true, c
	}
	if o, c = local(d); c != OK {
		return o, t, true, c
	}
	if o.total != t.total {
		return o, t, true, ErrTruncate
	}
	return o, t, skip, OK
}

// Put stores the origin's data at the target. It is complete there after the
// synchronization that MPI asks for. Errors: ErrRank, ErrSync, ErrDisp, ErrRange,
// ErrCount, ErrType, ErrTruncate, and where pieces of lines are written ErrLost
// and ErrCorrupt.
func (w *Window) Put(origin Data, target Place) Class {
	if w.coherent || w.exact {
		if src, dst, n := w.quick(&origin, &target); n > 0 {
			w.stored()
			w.write(dst, src, n)
			return OK
		}
	}
	o, t, skip, c := w.pair(origin, target)
	if skip {
		return c
	}
	return w.put(&o, &t, target.Rank)
}

func move(dst, src unsafe.Pointer, n int64) {
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
}

func (w *Window) put(o, t *side, target int) Class {
	w.lock()
	defer w.unlock()
	w.stored()
	switch {
	case w.coherent && t.contig:
		o.typ.Pack(t.run, o.buf, o.count, 0, o.total)
		return OK
	case w.coherent && o.contig:
		t.typ.Unpack(t.buf, o.run, t.count, 0, t.total)
		return OK
	}
	guarded := !w.coherent && !w.exact && !t.wholeLines() && !w.alone(target)
	if guarded {
		if _, c := w.enter(w.guard(target), updateLock); c != OK {
			return c
		}
	}
	for from := int64(0); from < t.total; {
		src, n := o.piece(&w.scratch.a, from, t.total)
		w.scatter(t, from, src, n)
		from += n
	}
	if guarded {
		w.leave(w.guard(target), updateLock)
	}
	return OK
}

// piece is a part of the stream from byte from on: of a contiguous side all of
// it, else what fits the scratch buffer.
func (s *side) piece(scratch *[scratchSize]byte, from, to int64) (unsafe.Pointer, int64) {
	if s.contig {
		return unsafe.Add(s.run, from), to - from
	}
	n := min(to-from, scratchSize)
	s.typ.Pack(unsafe.Pointer(scratch), s.buf, s.count, from, n)
	return unsafe.Pointer(scratch), n
}

// wholeLines says that the data is one run that begins and ends where a line
// does.
func (s *side) wholeLines() bool {
	return s.contig && (uintptr(s.run)|uintptr(s.total))%line == 0
}

// guard is the target whose update lock keeps others from the lines of a target.
// Where segments share lines without the memory taking less than lines, one lock
// is for all.
func (w *Window) guard(target int) int {
	if w.lay.packed && !w.exact {
		return 0
	}
	return target
}

// alone says that this rank has the target locked exclusively, and that so
// nobody else writes to any of the lines of its segment.
func (w *Window) alone(target int) bool {
	return w.held[target] == exclusive && (w.exact || !w.lay.packed)
}

// scatter writes n bytes at src to bytes [from, from+n) of the stream of a target
// side. Where lines are written whole the caller keeps others out.
func (w *Window) scatter(t *side, from int64, src unsafe.Pointer, n int64) {
	if t.contig {
		w.write(unsafe.Add(t.run, from), src, n)
		return
	}
	if w.coherent {
		t.typ.Unpack(t.buf, src, t.count, from, n)
		return
	}
	w.eachRun(t, from, n, func(run unsafe.Pointer, done, n int64) { w.write(run, unsafe.Add(src, done), n) })
}

// gather copies bytes [from, from+n) of the stream of a target side, fresh.
func (w *Window) gather(t *side, from int64, dst unsafe.Pointer, n int64) {
	if t.contig {
		w.read(dst, unsafe.Add(t.run, from), n)
		return
	}
	if w.coherent {
		t.typ.Pack(dst, t.buf, t.count, from, n)
		return
	}
	w.eachRun(t, from, n, func(run unsafe.Pointer, done, n int64) { w.read(unsafe.Add(dst, done), run, n) })
}

// eachRun calls f for each run of memory of bytes [from, from+n) of a target's
// stream, with how many of the bytes came before it.
func (w *Window) eachRun(t *side, from, n int64, f func(run unsafe.Pointer, done, n int64)) {
	for done := int64(0); done < n; {
		// Addresses relative to the buffer: offsets, which may be negative.
		k, next := t.typ.Segments(nil, t.count, from+done, w.scratch.runs[:])
		for _, r := range w.scratch.runs[:k] {
			m := min(r.Len, n-done)
			if m <= 0 {
				return
			}
			f(unsafe.Add(t.buf, int(r.Addr)), done, m)
			done += m
		}
		if next >= t.total || k == 0 {
			return
		}
	}
}

// write changes n bytes of a segment and no other.
func (w *Window) write(dst, src unsafe.Pointer, n int64) {
	switch {
	case w.coherent:
		move(dst, src, n)
	case w.exact:
		w.v.CopyExact(dst, src, int(n))
	default:
		// The lines at the ends are written back whole: what others wrote to
		// them must be in this cache first.
		if uintptr(dst)%line != 0 {
			w.v.Invalidate(dst, 1)
		}
		if last := unsafe.Add(dst, n-1); uintptr(last)%line != line-1 {
			w.v.Invalidate(last, 1)
		}
		w.v.CopyIn(dst, src, int(n))
	}
}

// read copies n bytes of a segment as others have written them.
func (w *Window) read(dst, src unsafe.Pointer, n int64) {
	if w.coherent {
		move(dst, src, n)
		return
	}
	w.v.CopyOut(dst, src, int(n))
}

// Get copies the target's data to the origin; it is there when Get returns.
// Errors: as of Put.
func (w *Window) Get(origin Data, target Place) Class {
	if dst, src, n := w.quick(&origin, &target); n > 0 {
		w.read(dst, src, n)
		return OK
	}
	o, t, skip, c := w.pair(origin, target)
	if skip {
		return c
	}
	w.lock()
	defer w.unlock()
	switch {
	case o.contig:
		w.gather(&t, 0, o.run, t.total)
		return OK
	case w.coherent && t.contig:
		o.typ.Unpack(o.buf, t.run, o.count, 0, o.total)
		return OK
	}
	buf := unsafe.Pointer(&w.scratch.a)
	for from := int64(0); from < t.total; {
		n := min(t.total-from, scratchSize)
		w.gather(&t, from, buf, n)
		o.typ.Unpack(o.buf, buf, o.count, from, n)
		from += n
	}
	return OK
}
