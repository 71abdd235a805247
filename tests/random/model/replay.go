package model

import (
	"fmt"
	"math"

	"cmpi/tests/random/program"
)

// running is what a request stands for while it is active.
type running struct {
	message *message
	taker   *taker
}

// replayer follows what one rank has seen, operation by operation.
type replayer struct {
	*checker
	rank    int
	records map[[2]int32][]Record // by thread and operation
	active  map[int]*running      // by slot
	inits   map[int]*program.Op   // persistent requests
	handles map[int]*taker        // matched messages
}

// replay follows all threads of a rank, then its epilogue.
func (k *checker) replay(rank int, records []Record) {
	r := &replayer{checker: k, rank: rank, records: map[[2]int32][]Record{}, active: map[int]*running{},
		inits: map[int]*program.Op{}, handles: map[int]*taker{}}
	for _, x := range records {
		at := [2]int32{x.Thread, x.Op}
		r.records[at] = append(r.records[at], x)
	}
	for thread, ops := range k.c.Threads[rank] {
		r.thread(thread, ops)
	}
	r.thread(program.EpilogueThread, k.c.Epilogue[rank])
	if len(k.problems) > 0 {
		return
	}
	for slot, run := range r.active {
		if run.taker != nil || run.message != nil {
			k.problems = append(k.problems, "request left: "+k.at(r.placeOf(run))+fmt.Sprintf(" in slot %d", slot))
		}
	}
}

func (r *replayer) placeOf(run *running) program.Place {
	if run.taker != nil {
		return run.taker.Place
	}
	return run.message.Place
}

func (r *replayer) thread(thread int, ops []program.Op) {
	for i := range ops {
		p := program.Place{Rank: r.rank, Thread: thread, Index: i}
		list := r.records[[2]int32{int32(thread), int32(i)}]
		if len(list) == 0 {
			r.problem(p, "was not executed")
			return
		}
		r.operation(p, &ops[i], list)
	}
}

// operation follows one operation. The executor writes the record of the
// operation itself first.
func (r *replayer) operation(p program.Place, op *program.Op, list []Record) {
	own := list[0]
	if own.Item != ItemOp {
		r.problem(p, "has no record of its own")
		return
	}
	begun := r.begin(p, op, own)
	switch own.Class {
	case ClassOK, ClassTruncate:
	case ClassInStatus, ClassPending:
		if !op.Kind.Completes() {
			r.problem(p, "error class %d", own.Class)
		}
	default:
		r.problem(p, "error class %d", own.Class)
	}
	sub := 0
	for _, x := range list[1:] {
		switch {
		case x.Flags&FlagStray != 0:
			r.problem(p, "completed request %d, which was not active", x.Item)
		case x.Item == ItemProbe:
			r.probed(p, op, x)
		case x.Item == ItemRecv:
			sub++
			r.direct(p, op, x, begun, sub)
		case x.Item == ItemLate:
			r.problem(p, "the buffer changed after the message was there")
		case x.Item >= 0:
			r.ended(p, x)
		}
	}
}

// begin notes the receives and sends that an operation begins.
func (r *replayer) begin(p program.Place, op *program.Op, own Record) *running {
	switch op.Kind {
	case program.SendInit, program.RecvInit:
		r.inits[op.Slots[0]] = op
		return nil
	case program.Start:
		for i, slot := range op.Slots {
			if init := r.inits[slot]; init != nil {
				r.active[slot] = r.run(p, init, op.Msgs[i], slot, own)
			}
		}
		return nil
	case program.Cancel:
		r.cancel(op.Slots[0], own)
		return nil
	case program.CancelRest:
		for _, slot := range op.Slots {
			r.cancel(slot, own)
		}
		return nil
	case program.Free:
		delete(r.active, op.Slots[0])
		return nil
	case program.Improbe, program.IprobeRecv:
		if own.Flags&FlagFound == 0 {
			return nil
		}
	case program.Mrecv, program.Imrecv:
		return r.matched(op, own)
	}
	slot := -1
	if op.Kind.MakesRequest() {
		slot = op.Slots[0]
	}
	run := r.run(p, op, op.Msg, slot, own)
	if slot >= 0 {
		r.active[slot] = run
	} else if run.message != nil && run.message.Mode == program.Synchronous {
		run.message.synced = own.T1
	}
	return run
}

// run makes what an operation, or a persistent request of it, begins.
func (r *replayer) run(p program.Place, op *program.Op, msg, slot int, own Record) *running {
	run := &running{}
	if op.Kind.Sends() && op.Send.Peer != program.ProcNull {
		run.message = r.messages[msg]
		run.message.begun = own.T0
	}
	if op.Kind.Receives() {
		run.taker = r.taker(p, op, slot, own.T0)
		if op.Kind == program.Mprobe || op.Kind == program.Improbe {
			run.taker.done = own.T1
			r.handles[op.Handle] = run.taker
		}
	}
	return run
}

// taker makes a receive with the pattern of op.
func (r *replayer) taker(p program.Place, op *program.Op, slot int, posted int64) *taker {
	t := &taker{Posted: program.Posted{Place: p, Comm: op.Comm, Source: op.Recv.Peer, Tag: op.Recv.Tag, Cells: op.RecvCells(), Slot: slot},
		posted: posted, done: math.MaxInt64, begun: posted}
	r.takers = append(r.takers, t)
	return t
}

// matched is the receive of a message that Mprobe has taken out.
func (r *replayer) matched(op *program.Op, own Record) *running {
	run := &running{}
	if t := r.handles[op.Handle]; t != nil && own.Flags&FlagFound != 0 {
		delete(r.handles, op.Handle)
		t.Cells, t.begun = op.RecvCells(), own.T0
		run.taker = t
	}
	if op.Kind == program.Imrecv {
		r.active[op.Slots[0]] = run
	}
	return run
}

func (r *replayer) cancel(slot int, own Record) {
	if run := r.active[slot]; run != nil && run.taker != nil && !run.taker.cancel {
		run.taker.cancel, run.taker.cancelling = true, own.T0
	}
}

// probed is what a probe has told.
func (r *replayer) probed(p program.Place, op *program.Op, x Record) {
	if op.Recv.Peer == program.ProcNull {
		return
	}
	if op.Kind == program.Mprobe || op.Kind == program.Improbe {
		t := r.handles[op.Handle]
		t.bytes, t.source, t.tag = x.Bytes, x.Source, x.Tag
		return
	}
	t := &taker{Posted: program.Posted{Place: p, Comm: op.Comm, Source: op.Recv.Peer, Tag: op.Recv.Tag}, look: true,
		posted: x.T0, done: x.T1, bytes: x.Bytes, source: x.Source, tag: x.Tag}
	var seen []*message
	for _, s := range r.f.Sends {
		if m := r.messages[s.Msg]; t.accepts(m) && m.Source == int(x.Source) && m.Tag == int(x.Tag) && int64(m.Cells*r.c.Cell.Size()) == x.Bytes {
			seen = append(seen, m)
		}
	}
	if len(seen) == 0 {
		r.problem(p, "found source %d, tag %d, %d bytes: there is no such message", x.Source, x.Tag, x.Bytes)
	}
	if len(seen) == 1 {
		t.message = seen[0]
	}
	r.takers = append(r.takers, t)
}

// direct is the message of a blocking receive.
func (r *replayer) direct(p program.Place, op *program.Op, x Record, begun *running, sub int) {
	switch op.Kind {
	case program.Drain:
		t := r.taker(p, op, -1, x.T0)
		t.sub = sub
		r.received(t, x)
	case program.ProbeRecv, program.IprobeRecv:
		// The receive names what the probe found, and has room for no more.
		look := r.takers[len(r.takers)-1]
		t := begun.taker
		t.sub, t.posted = sub, x.T0
		t.Source, t.Tag, t.Cells = int(look.source), int(look.tag), int(look.bytes)/r.c.Cell.Size()
		r.received(t, x)
		if look.message == nil && r.receivesAlone(t) {
			look.message = t.message
		}
	default:
		if begun == nil || begun.taker == nil {
			r.problem(p, "received something it didn't ask for")
			return
		}
		r.taken(begun.taker, x)
	}
}

// receivesAlone reports that no other thread of the rank receives on the
// communicator of t.
func (r *replayer) receivesAlone(t *taker) bool {
	for _, q := range r.f.Posts {
		if q.Rank == t.Rank && q.Comm == t.Comm && q.Thread != t.Thread && t.Thread != program.EpilogueThread {
			return false
		}
	}
	return true
}

// taken is received; of a matched message, done stays the moment of the match.
func (r *replayer) taken(t *taker, x Record) {
	done := t.done
	r.received(t, x)
	t.done = min(done, t.done)
	if m := t.message; m != nil && r.isMatched(t) && (int32(m.Source) != t.source || int32(m.Tag) != t.tag || int64(m.Cells*r.c.Cell.Size()) != t.bytes) {
		r.problem(t.Place, "matched source %d, tag %d, %d bytes, but the message is %d of source %d, tag %d, %d cells", t.source, t.tag, t.bytes,
			m.Msg, m.Source, m.Tag, m.Cells)
	}
}

func (r *replayer) isMatched(t *taker) bool {
	k := r.c.Op(t.Place).Kind
	return k == program.Mprobe || k == program.Improbe
}

// ended is the completion of a request.
func (r *replayer) ended(p program.Place, x Record) {
	slot := int(x.Item)
	run := r.active[slot]
	if run == nil {
		r.problem(p, "completed request %d, which was not active", slot)
		return
	}
	if x.Flags&FlagPeek != 0 {
		if run.taker != nil {
			run.taker.done = min(run.taker.done, x.T1)
		} else if run.message != nil && run.message.Mode == program.Synchronous {
			run.message.synced = min(run.message.synced, x.T1)
		}
		return
	}
	delete(r.active, slot)
	if run.message != nil && run.message.Mode == program.Synchronous {
		run.message.synced = min(run.message.synced, x.T1)
	}
	if run.taker != nil {
		r.taken(run.taker, x)
	} else if x.Class != ClassOK {
		r.problem(p, "request %d ended with error class %d", slot, x.Class)
	}
}
