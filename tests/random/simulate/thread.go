package simulate

import (
	"cmpi/tests/random/model"
	"cmpi/tests/random/program"
)

// advance lets a thread try its next operation; true if anything happened.
func (w *world) advance(t *thread) bool {
	if t.next >= len(t.ops) {
		return false
	}
	if t.number == program.EpilogueThread {
		for _, other := range t.rank.threads[:len(t.rank.threads)-1] {
			if other.next < len(other.ops) {
				return false
			}
		}
	}
	op := &t.ops[t.next]
	fresh := !t.begun
	if fresh {
		t.begun, t.t0, t.tries, t.own, t.log = true, w.clock, 0, request{}, nil
	}
	log, tries := len(t.log), t.tries
	flags, over := w.try(t, op, fresh)
	if !over {
		return fresh || len(t.log) > log || t.tries > tries
	}
	r := t.rank
	own := w.record(t, model.ItemOp)
	own.Flags = flags
	r.records = append(append(r.records, own), t.log...)
	t.next++
	t.begun = false
	w.clock++
	return true
}

func (w *world) record(t *thread, item int) model.Record {
	return model.Record{Thread: int32(t.number), Op: int32(t.next), Item: int32(item), Msg: -1, Bad: -1, T0: t.t0, T1: w.clock}
}

// try executes an operation as far as it goes; over when it returns.
func (w *world) try(t *thread, op *program.Op, fresh bool) (flags uint32, over bool) {
	r := t.rank
	switch k := op.Kind; {
	case k == program.ProbeRecv || k == program.IprobeRecv || k.Probes() || k == program.Mprobe || k == program.Improbe:
		return w.probe(t, op)
	case k == program.Mrecv || k == program.Imrecv:
		return w.mrecv(t, op)
	case k == program.SendInit || k == program.RecvInit:
		r.slots[op.Slots[0]] = request{init: op}
	case k == program.Start:
		for i, s := range op.Slots {
			w.begin(t, r.slots[s].init, op.Msgs[i], &r.slots[s])
		}
	case k.MakesRequest():
		w.begin(t, op, op.Msg, &r.slots[op.Slots[0]])
	case k.Completes():
		return 0, w.complete(t, op)
	case k == program.Cancel:
		w.cancel(r, &r.slots[op.Slots[0]])
	case k == program.CancelRest:
		for _, s := range op.Slots {
			if q := &r.slots[s]; q.active {
				w.cancel(r, q)
				w.end(t, s)
			}
		}
	case k == program.Free:
		r.slots[op.Slots[0]] = request{}
	case k == program.Drain:
		return 0, w.drain(t, op, fresh)
	case k == program.Sleep || k == program.FreeRest || k == program.FreeFresh:
	default: // blocking
		if fresh {
			w.begin(t, op, op.Msg, &t.own)
		}
		if !w.done(&t.own) {
			return 0, false
		}
		if t.own.recv != nil {
			w.took(t, model.ItemRecv, t.own.recv)
		}
	}
	return 0, true
}

func (w *world) cancel(r *rank, q *request) {
	if !q.active || q.recv == nil || q.recv.cancelled {
		return
	}
	if q.recv.message == nil {
		r.posted = remove(r.posted, q.recv)
		q.recv.cancelled = true
	} else if w.fault == CancelEats {
		q.recv.message, q.recv.cancelled = nil, true
	}
}

// took notes the outcome of a receive.
func (w *world) took(t *thread, item int, q *receive) {
	x := w.record(t, item)
	m := q.message
	if q.cancelled {
		x.Flags |= model.FlagCancelled
		t.log = append(t.log, x)
		return
	}
	x.Source, x.Tag = int32(m.Source), int32(m.Tag)
	size := w.c.Cell.Size()
	x.Bytes = int64(m.Cells * size)
	if m.Cells > q.Cells {
		x.Bytes = int64(q.Cells * size)
		if w.fault != NoTruncation {
			x.Class = model.ClassTruncate
		}
	}
	if x.Bytes > 0 {
		x.Msg = int32(m.Msg)
	}
	if m.Source != program.ProcNull {
		t.rank.received[q.Comm]++
		w.spoil(&x)
	}
	t.log = append(t.log, x)
}

// end completes the request in a slot.
func (w *world) end(t *thread, slot int) {
	q := &t.rank.slots[slot]
	if q.recv != nil {
		w.took(t, slot, q.recv)
	} else {
		t.log = append(t.log, w.record(t, slot))
	}
	q.active = false
}

// probe looks for a message, and takes it if op does.
func (w *world) probe(t *thread, op *program.Op) (flags uint32, over bool) {
	r := t.rank
	if t.own.recv != nil { // the receive after the probe
		if t.own.recv.message == nil {
			return 0, false
		}
		w.took(t, model.ItemRecv, t.own.recv)
		return model.FlagFound, true
	}
	p := program.Posted{Place: program.Place{Rank: r.number}, Comm: op.Comm, Source: op.Recv.Peer, Tag: op.Recv.Tag}
	m := w.chooseProbed(r, p)
	if m == nil {
		if op.Kind == program.Iprobe || op.Kind.Conditional() {
			t.tries++
			return 0, t.tries >= op.Tries
		}
		return 0, false
	}
	x := w.record(t, model.ItemProbe)
	x.Source, x.Tag, x.Bytes = int32(m.Source), int32(m.Tag), int64(m.Cells*w.c.Cell.Size())
	t.log = append(t.log, x)
	switch op.Kind {
	case program.Mprobe, program.Improbe:
		if w.fault != MprobeKeeps {
			r.unexpected = remove(r.unexpected, m)
		}
		r.handles[op.Handle] = &receive{Posted: p, message: m}
	case program.ProbeRecv, program.IprobeRecv:
		p.Source, p.Tag, p.Cells = m.Source, m.Tag, m.Cells
		t.own.recv = w.post(r, p)
		return 0, false
	}
	return model.FlagFound, true
}

func (w *world) mrecv(t *thread, op *program.Op) (flags uint32, over bool) {
	r := t.rank
	q := r.handles[op.Handle]
	r.handles[op.Handle] = nil
	if q == nil {
		return 0, true
	}
	q.Cells, q.message.matched = op.RecvCells(), true
	if op.Kind == program.Mrecv {
		w.took(t, model.ItemRecv, q)
	} else {
		r.slots[op.Slots[0]] = request{recv: q, active: true}
	}
	return model.FlagFound, true
}

func (w *world) drain(t *thread, op *program.Op, fresh bool) bool {
	if fresh {
		t.left = op.Count - t.rank.received[op.Comm]
	}
	for ; t.left > 0; t.left-- {
		if t.own.recv == nil {
			t.own.recv = w.post(t.rank, program.Posted{Place: program.Place{Rank: t.rank.number}, Comm: op.Comm,
				Source: program.AnySource, Tag: program.AnyTag, Cells: op.RecvCells()})
		}
		if t.own.recv.message == nil {
			return false
		}
		w.took(t, model.ItemRecv, t.own.recv)
		t.own.recv = nil
		t.t0 = w.clock
	}
	return true
}

// complete executes a wait or test; true when it returns.
func (w *world) complete(t *thread, op *program.Op) bool {
	slots := t.rank.slots
	var done []int
	active := 0
	for _, s := range op.Slots {
		if q := &slots[s]; q.active {
			active++
			if w.done(q) {
				done = append(done, s)
			}
		}
	}
	all := len(done) == active
	switch op.Kind {
	case program.GetStatus:
		for _, s := range done {
			x := w.record(t, s)
			x.Flags = model.FlagPeek
			t.log = append(t.log, x)
		}
		return true
	case program.Wait, program.Test, program.Waitall, program.Testall:
		if !all {
			done = nil
		}
	case program.Waitany, program.Testany:
		if len(done) > 0 {
			i := w.rng.IntN(len(done))
			done = done[i : i+1]
		}
	}
	for _, s := range done {
		w.end(t, s)
	}
	switch {
	case op.Until || op.Kind == program.Wait || op.Kind == program.Waitall:
		return active == len(done)
	case op.Kind.Tests():
		return true
	}
	return active == 0 || len(done) > 0
}
