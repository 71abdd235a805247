package window

import (
	"unsafe"
)

// Accumulate combines the origin's elements into the target's, element by element
// atomic towards all other accumulates of the same kind. Both types must be made
// of elements of kind e. Errors: as of Put, and ErrOp.
func (w *Window) Accumulate(origin Data, target Place, op Op, e Elem) Class {
	if w.coherent && op != OpNoOp && op.Valid(e) {
		if src, dst, n := w.quick(&origin, &target); n > 0 && w.updateRun(target.Rank, op, e, dst, src, n) {
			return OK
		}
	}
	return w.accumulate(origin, Data{}, target, op, e, false)
}

// updateRun is Accumulate of one run to one run in a coherent window; false if it
// isn't made of aligned elements that CPU atomics can update, and so needs more.
func (w *Window) updateRun(rank int, op Op, e Elem, dst, src unsafe.Pointer, n int64) bool {
	size := int64(e.Size())
	switch {
	case n%size != 0:
		return false
	case !w.cfg.Threaded && w.held[rank] == exclusive:
		w.stored()
		combine(e, op, dst, src, int(n/size))
		return true
	case !e.atomicKind() || uintptr(dst)%uintptr(size) != 0:
		return false
	}
	w.stored()
	atomicUpdateRun(e, op, dst, src, n)
	return true
}

// GetAccumulate is Accumulate that also fetches what the target's elements were.
// With OpNoOp the origin's data is not looked at.
func (w *Window) GetAccumulate(origin, result Data, target Place, op Op, e Elem) Class {
	return w.accumulate(origin, result, target, op, e, true)
}

// update is one accumulate.
type update struct {
	o, r, t side
	rank    int
	op      Op
	e       Elem
	fetch   bool
}

func (w *Window) accumulate(origin, result Data, target Place, op Op, e Elem, fetch bool) (c Class) {
	u := update{rank: target.Rank, op: op, e: e, fetch: fetch}
	if !op.Valid(e) {
		return ErrOp
	}
	var skip bool
	if u.t, skip, c = w.remote(target); c != OK || target.Rank == ProcNull {
		return c
	}
	if op != OpNoOp {
		if u.o, c = local(origin); c != OK {
			return c
		}
		if u.o.total != u.t.total {
			return ErrTruncate
		}
	}
	if fetch {
		if u.r, c = local(result); c != OK {
			return c
		}
		if u.r.total != u.t.total {
			return ErrTruncate
		}
	}
	if u.t.total%int64(e.Size()) != 0 {
		return ErrType
	}
	if skip || op == OpNoOp && !fetch {
		return OK
	}
	w.lock()
	defer w.unlock()
	w.stored()
	if w.coherent && e.atomicKind() && (w.cfg.Threaded || w.held[u.rank] != exclusive) {
		return w.updateAtomically(&u)
	}
	return w.updateExcluding(&u)
}

// updateExcluding does the work while everyone else who accumulates keeps out,
// piece by piece: fetch, combine, store.
func (w *Window) updateExcluding(u *update) Class {
	if !w.alone(u.rank) {
		if _, c := w.enter(w.guard(u.rank), updateLock); c != OK {
			return c
		}
		defer w.leave(w.guard(u.rank), updateLock)
	}
	size := int64(u.e.Size())
	most := scratchSize / size * size
	now := unsafe.Pointer(&w.scratch.a)
	for from := int64(0); from < u.t.total; {
		n := min(u.t.total-from, most)
		w.gather(&u.t, from, now, n)
		if u.fetch {
			u.r.typ.Unpack(u.r.buf, now, u.r.count, from, n)
		}
		if u.op != OpNoOp {
			combine(u.e, u.op, now, w.operands(&u.o, from, n), int(n/size))
			w.scatter(&u.t, from, now, n)
		}
		from += n
	}
	return OK
}

// operands are n bytes of the origin's stream.
func (w *Window) operands(o *side, from, n int64) unsafe.Pointer {
	if o.contig {
		return unsafe.Add(o.run, from)
	}
	o.typ.Pack(unsafe.Pointer(&w.scratch.b), o.buf, o.count, from, n)
	return unsafe.Pointer(&w.scratch.b)
}

// updateAtomically does the work with CPU atomics. Elements that are not aligned
// to their size are left to the update lock, whoever accesses them.
func (w *Window) updateAtomically(u *update) Class {
	size := int64(u.e.Size())
	c := OK
	for from := int64(0); from < u.t.total && c == OK; {
		n := min(u.t.total-from, scratchSize)
		var src unsafe.Pointer
		if u.op != OpNoOp {
			src = w.operands(&u.o, from, n)
		}
		was := unsafe.Pointer(&w.scratch.a)
		w.runsOf(&u.t, from, n, func(run unsafe.Pointer, done, n int64) {
			for i := int64(0); i+size <= n && c == OK; i += size {
				var operand uint64
				if src != nil {
					operand = loadElem(unsafe.Add(src, done+i), size)
				}
				var old uint64
				old, c = w.updateElem(u, unsafe.Add(run, i), operand)
				storeElem(unsafe.Add(was, done+i), old, size)
			}
			if n%size != 0 && c == OK {
				c = ErrType // a run that ends inside an element
			}
		})
		if u.fetch && c == OK {
			u.r.typ.Unpack(u.r.buf, was, u.r.count, from, n)
		}
		from += n
	}
	return c
}

// runsOf is eachRun, without a look at the type where there is one run.
func (w *Window) runsOf(t *side, from, n int64, f func(run unsafe.Pointer, done, n int64)) {
	if t.contig {
		f(unsafe.Add(t.run, from), 0, n)
		return
	}
	w.eachRun(t, from, n, f)
}

// updateElem updates one element and returns what it was.
func (w *Window) updateElem(u *update, p unsafe.Pointer, operand uint64) (old uint64, c Class) {
	size := int64(u.e.Size())
	if uintptr(p)%uintptr(size) == 0 {
		return atomicUpdate(u.e, u.op, p, operand), OK
	}
	if _, c := w.enter(u.rank, updateLock); c != OK {
		return 0, c
	}
	old = loadElem(p, size)
	storeElem(p, combineWord(u.e, u.op, old, operand), size)
	w.leave(u.rank, updateLock)
	return old, OK
}

// FetchAndOp is GetAccumulate on one element. result may be nil only if the rank
// is ProcNull, origin also with OpNoOp.
func (w *Window) FetchAndOp(origin, result unsafe.Pointer, e Elem, target int, disp int64, op Op) Class {
	if !op.Valid(e) {
		return ErrOp
	}
	p, c := w.element(e, target, disp)
	if c != OK || p == nil {
		return c
	}
	size := int64(e.Size())
	w.lock()
	defer w.unlock()
	w.stored()
	if w.coherent && e.atomicKind() && uintptr(p)%uintptr(size) == 0 {
		var operand uint64
		if op != OpNoOp {
			operand = loadElem(origin, size)
		}
		storeElem(result, atomicUpdate(e, op, p, operand), size)
		return OK
	}
	return w.exclusively(target, func() {
		now := unsafe.Pointer(&w.scratch.a)
		w.read(now, p, size)
		var operand [maxElem]byte
		if op != OpNoOp {
			move(unsafe.Pointer(&operand), origin, size)
		}
		move(result, now, size)
		if op != OpNoOp {
			combine(e, op, now, unsafe.Pointer(&operand), 1)
			w.write(p, now, size)
		}
	})
}

// maxElem is the longest element in bytes.
const maxElem = 32

// CompareAndSwap stores the origin's element at the target if the one there
// equals compare, byte for byte, and fetches what was there. Only the kinds that
// MPI allows: integers, logicals and Byte (ErrType).
func (w *Window) CompareAndSwap(origin, compare, result unsafe.Pointer, e Elem, target int, disp int64) Class {
	if int(e) >= elems || elemInfos[e].family > logicals {
		return ErrType
	}
	p, c := w.element(e, target, disp)
	if c != OK || p == nil {
		return c
	}
	size := int64(e.Size())
	want, new := loadElem(compare, size), loadElem(origin, size)
	w.lock()
	defer w.unlock()
	w.stored()
	if w.coherent && uintptr(p)%uintptr(size) == 0 {
		storeElem(result, atomicSwap(p, size, want, new), size)
		return OK
	}
	return w.exclusively(target, func() {
		now := unsafe.Pointer(&w.scratch.a)
		w.read(now, p, size)
		old := loadElem(now, size)
		if old == want {
			storeElem(now, new, size)
			w.write(p, now, size)
		}
		storeElem(result, old, size)
	})
}

// element is the address of one element of a target, nil for ProcNull.
func (w *Window) element(e Elem, target int, disp int64) (unsafe.Pointer, Class) {
	switch {
	case target == ProcNull:
		return nil, OK
	case target < 0 || target >= w.n:
		return nil, ErrRank
	}
	f := &w.fast[target]
	m := &w.cfg.Members[target]
	unit, size := int64(m.DispUnit), int64(e.Size())
	switch {
	case f.closed():
		return nil, ErrSync
	case disp < 0:
		return nil, ErrDisp
	case disp > m.Size/unit || size > m.Size-disp*unit:
		return nil, ErrRange
	}
	f.use()
	return unsafe.Add(w.segment(target), disp*unit), OK
}

// exclusively calls f while everyone else who accumulates to the target keeps out.
func (w *Window) exclusively(target int, f func()) Class {
	if w.alone(target) {
		f()
		return OK
	}
	if _, c := w.enter(w.guard(target), updateLock); c != OK {
		return c
	}
	f()
	w.leave(w.guard(target), updateLock)
	return OK
}
