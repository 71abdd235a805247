package program

import "fmt"

// Unsafe is an operation that might wait for ever, or that MPI doesn't allow.
type Unsafe struct {
	Place
	Slot   int // the request that isn't certain to complete, -1 for the operation itself
	Reason string
}

// hold is what a slot holds while a thread is followed.
type hold struct {
	activity
	known      bool // certainly active or certainly idle, as active says
	active     bool
	persistent bool
	certain    bool // completes whatever happens
}

// follower follows one thread, operation by operation.
type follower struct {
	c     *Case
	f     *Facts
	holds map[int]*hold
	maybe map[int]bool // handles of matched messages: whether there may be none
	found []Unsafe
}

func newFollower(c *Case, f *Facts) *follower {
	return &follower{c: c, f: f, holds: map[int]*hold{}, maybe: map[int]bool{}}
}

// Unsafe lists the operations that break the rule of this package, none if the
// case is sound.
func (c *Case) Unsafe() []Unsafe {
	f := c.Facts()
	var found []Unsafe
	for rank, threads := range c.Threads {
		for thread, ops := range threads {
			w := newFollower(c, f)
			for i := range ops {
				w.step(Place{rank, thread, i}, &ops[i])
			}
			found = append(found, w.found...)
		}
	}
	return found
}

func (w *follower) bad(p Place, slot int, format string, args ...any) {
	w.found = append(w.found, Unsafe{p, slot, fmt.Sprintf(format, args...)})
}

func (w *follower) step(p Place, op *Op) {
	begun := w.f.begun[p]
	switch k := op.Kind; {
	case k == Start:
		w.start(p, op)
	case k == SendInit || k == RecvInit:
		w.holds[op.Slots[0]] = &hold{activity: activity{op.Slots[0], -1, -1}, known: true, persistent: true}
	case k == Isendrecv || k == IsendrecvReplace:
		// Such a request can't be cancelled, so the epilogue must be able to
		// wait for it.
		if h := w.make(begun[0], op); !w.certain(h, Forever) {
			w.bad(p, -1, "the request may never complete")
		}
	case k.MakesRequest():
		h := w.make(activity{slot: op.Slots[0], send: -1, post: -1}, op)
		if len(begun) > 0 {
			h.activity = begun[0]
		}
	case k == Improbe:
		w.maybe[op.Handle] = true
	case k == Send || k == Recv || k == Sendrecv || k == SendrecvReplace || k == ProbeRecv || k == Mprobe:
		if len(begun) > 0 && !w.certain(&hold{activity: begun[0]}, op.Step) {
			w.bad(p, -1, "may wait for ever")
		}
	case k == Probe && op.Recv.Peer != ProcNull:
		if !w.f.RecvCertain(Posted{Place: p, Step: op.Step, Comm: op.Comm, Source: op.Recv.Peer, Tag: op.Recv.Tag, Slot: -1}, op.Step) {
			w.bad(p, -1, "may wait for ever")
		}
	case k == Cancel:
		if h := w.holds[op.Slots[0]]; h != nil {
			h.certain = true
		}
	case k == Free:
		delete(w.holds, op.Slots[0])
	case k.Completes():
		w.complete(p, op)
	}
	for _, a := range begun {
		if a.send >= 0 && w.f.Sends[a.send].Mode == Ready && !w.f.ReadyLegal(w.f.Sends[a.send]) {
			slot := -1
			if op.Kind == Start {
				slot = a.slot
			}
			w.bad(p, slot, "a ready send whose receive may not be posted")
		}
	}
}

// make notes the request that op has made.
func (w *follower) make(a activity, op *Op) *hold {
	h := &hold{activity: a, known: true, active: true}
	h.certain = op.Kind == Imrecv || op.Kind == Ibarrier
	h.known = op.Kind != Imrecv || !w.maybe[op.Handle]
	w.holds[a.slot] = h
	return h
}

func (w *follower) start(p Place, op *Op) {
	begun := map[int]activity{}
	for _, a := range w.f.begun[p] {
		begun[a.slot] = a
	}
	for _, slot := range op.Slots {
		h := w.holds[slot]
		if h == nil || !h.persistent || !h.known || h.active {
			w.bad(p, slot, "starts a request that may be active")
			continue
		}
		h.active, h.certain = true, false
		h.activity = activity{slot, -1, -1}
		if a, ok := begun[slot]; ok {
			h.activity = a
		}
	}
}

// certain reports whether what the slot holds is complete once all operations
// up to step by have begun.
func (w *follower) certain(h *hold, by int) bool {
	if h.certain {
		return true
	}
	if h.send >= 0 {
		if s := w.f.Sends[h.send]; s.Mode != Buffered && !w.f.SendCertain(s, by) {
			return false
		}
	}
	return h.post < 0 || w.f.RecvCertain(w.f.Posts[h.post], by)
}

// complete follows a wait or test.
func (w *follower) complete(p Place, op *Op) {
	if op.Kind == GetStatus || op.Kind.Tests() && !op.Until {
		for _, slot := range op.Slots {
			if h := w.holds[slot]; h != nil && op.Kind != GetStatus {
				h.known = h.known && !h.active // an idle one stays idle
			}
		}
		return
	}
	if op.Kind.partial() && !op.Until && w.firstOf(op) {
		return
	}
	for _, slot := range op.Slots {
		h := w.holds[slot]
		if h == nil || h.known && !h.active {
			continue
		}
		if !w.certain(h, op.Step) {
			w.bad(p, slot, "waits for a request that may not complete")
			continue
		}
		if h.persistent {
			h.known, h.active = true, false
		} else {
			delete(w.holds, slot)
		}
	}
}

// firstOf follows a Waitany or Waitsome that isn't repeated and that has several
// requests, so that nobody knows which of them it completes. One request that
// is certain to be active and to complete is enough, or that all complete.
func (w *follower) firstOf(op *Op) bool {
	several, enough, all := 0, false, true
	for _, slot := range op.Slots {
		h := w.holds[slot]
		if h == nil || h.known && !h.active {
			continue
		}
		several++
		certain := w.certain(h, op.Step)
		enough = enough || h.known && certain
		all = all && certain
	}
	if several <= 1 || !enough && !all {
		return false // as a wait for each of them
	}
	for _, slot := range op.Slots {
		if h := w.holds[slot]; h != nil {
			h.known = h.known && !h.active
		}
	}
	return true
}

// Outstanding are the requests of a rank that its threads leave to the
// epilogue.
type Outstanding struct {
	Certain    []int // complete once all ranks have begun all they begin
	Uncertain  []int // receives that may find no message
	Sends      []int // complete once all messages are received
	Persistent []int // to be freed
}

// outstanding follows all threads of a rank to their ends.
func (c *Case) outstanding(f *Facts, rank int) (o Outstanding) {
	for thread, ops := range c.Threads[rank] {
		w := newFollower(c, f)
		for i := range ops {
			w.step(Place{rank, thread, i}, &ops[i])
		}
		for _, slot := range sortedKeys(w.holds) {
			h := w.holds[slot]
			if h.persistent {
				o.Persistent = append(o.Persistent, slot)
			}
			switch {
			case h.known && !h.active:
			case h.post < 0 && h.send >= 0:
				o.Sends = append(o.Sends, slot)
			case w.certain(h, Forever):
				o.Certain = append(o.Certain, slot)
			default:
				o.Uncertain = append(o.Uncertain, slot)
			}
		}
	}
	return o
}
