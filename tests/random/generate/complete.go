package generate

import (
	"cmp"
	"slices"

	"cmpi/tests/random/program"
)

// buffers gives the receives their capacities: enough for whatever they may
// get, or, where truncation was drawn, less.
func (g *generator) buffers() {
	f := g.facts()
	for _, it := range g.items {
		p, ok := f.post[it.place()]
		if !ok {
			continue
		}
		most, matching := 0, 0
		for _, s := range f.Sends {
			if p.Matches(s) {
				most, matching = max(most, s.Cells), matching+1
			}
		}
		// MPICH gives no data of a truncated message, so that in a host run only
		// the envelope tells which one it was.
		truncate := chance(g.rng, g.style.truncate) && most > 1 && (!g.p.Host || matching == 1)
		if it.op.Kind.Replaces() {
			if own := it.op.Send.Layout.Cells(); own >= most || truncate && own > 0 {
				continue
			}
			it.op.Kind = program.Sendrecv
		}
		n := most
		if truncate {
			n = 1 + g.rng.IntN(most-1)
		} else if n > 0 && chance(g.rng, 30) {
			n += g.rng.IntN(20)
		}
		if it.root != nil && it.root != it && it.root.op.Recv.Layout.Cells() >= n {
			it.op.Recv.Layout = it.root.op.Recv.Layout
			continue
		}
		it.op.Recv.Layout = g.layout(n)
		if it.root != nil && it.root != it {
			it.root = nil
		}
	}
}

// formTakes makes probes of the receives for which one was drawn: such that
// wait where that is certain to end, else such that look a few times. Where
// threads contend for messages, the probe takes what it finds.
func (g *generator) formTakes() {
	f := g.facts()
	r := g.rng
	for _, it := range slices.Clone(g.items) {
		if it.op.Kind != program.Irecv || !it.wish.probe && !it.wish.match || it.op.Recv.Peer == program.ProcNull {
			continue
		}
		certain := f.certain(it, it.op.Step)
		if !certain {
			it.op.Tries = pick(r, 1, 10, 100)
		}
		layout := it.op.Recv.Layout
		it.op.Recv.Layout, it.op.Slots = program.Layout{}, nil
		if p, ok := f.post[it.place()]; it.wish.probe && ok && !f.Contested(p) {
			it.op.Kind = program.IprobeRecv
			if certain {
				it.op.Kind = program.ProbeRecv
			}
			continue
		}
		it.op.Kind = program.Improbe
		if certain {
			it.op.Kind = program.Mprobe
		}
		it.op.Handle = g.mslots[it.rank]
		g.mslots[it.rank]++
		recv := program.Op{Kind: program.Mrecv, Comm: it.op.Comm, Msg: -1, Handle: it.op.Handle, Recv: program.Half{Layout: layout}, Flags: it.op.Flags}
		if chance(r, 40) {
			recv.Kind, recv.Slots = program.Imrecv, g.slot(it.rank)
		}
		g.insert(it.rank, it.thread, g.later(it.op.Step), recv).complete = recv.Kind == program.Imrecv
	}
	g.looks(f)
}

// looks adds probes whose messages stay where they are.
func (g *generator) looks(f facts) {
	r := g.rng
	for _, it := range slices.Clone(g.items) {
		p, ok := f.post[it.place()]
		if !ok || !chance(r, g.style.probe/2) {
			continue
		}
		op := program.Op{Kind: program.Iprobe, Comm: p.Comm, Msg: -1, Tries: pick(r, 1, 10), Recv: program.Half{Peer: p.Source, Tag: p.Tag}}
		base := max(g.steps[0], it.op.Step-stepSize*r.IntN(3))
		if chance(r, 50) {
			op.Kind = program.Probe // perhaps too early: Weaken knows
		}
		if g.p.Threads > 1 && op.Comm == program.Fresh {
			continue
		}
		g.insert(it.rank, it.thread, base, op)
	}
}

// formTransfers decides which sends and receives block, and the modes.
func (g *generator) formTransfers() {
	f := g.facts()
	for _, it := range slices.Clone(g.items) {
		switch it.op.Kind {
		case program.Isend:
			if it.op.Send.Peer != program.ProcNull {
				g.formSend(f, it)
			}
		case program.Irecv:
			if it.op.Recv.Peer != program.ProcNull {
				g.formRecv(f, it)
			}
		case program.Sendrecv, program.SendrecvReplace:
			if it.op.Send.Peer != program.ProcNull && !(it.wish.block && f.certain(it, it.op.Step)) {
				it.op.Kind += program.Isendrecv - program.Sendrecv
				g.request(it)
			}
		}
	}
}

// request makes an operation one whose request needs a wait.
func (g *generator) request(it *item) {
	if it.op.Slots == nil {
		it.op.Slots = g.slot(it.rank)
	}
	it.complete = true
}

func (g *generator) formRecv(f facts, it *item) {
	if it.wish.block && !it.wish.cancel && !it.wish.persistent && f.certain(it, it.op.Step) {
		it.op.Kind, it.op.Slots = program.Recv, nil
		return
	}
	g.request(it)
}

// formSend decides the mode of a send and whether it blocks.
func (g *generator) formSend(f facts, it *item) {
	r := g.rng
	switch n := r.IntN(10); {
	case it.root != nil && it.root != it:
		it.op.Mode = it.root.op.Mode
	case n < 2:
		it.op.Mode = program.Synchronous
	case n == 2:
		it.op.Mode = program.Buffered
	case !it.wish.persistent && f.ReadyLegal(f.send[it.place()]) && chance(r, 70):
		it.op.Mode = program.Ready
	}
	if it.wish.block && !it.wish.persistent && (it.op.Mode == program.Buffered || f.certain(it, it.op.Step)) {
		it.op.Kind, it.op.Slots = program.Send, nil
		return
	}
	g.request(it)
	if g.p.Host && f.send[it.place()].Dest == it.rank {
		return // MPICH 4.0 loses the message to itself whose request is freed
	}
	if it.wish.free && !it.wish.persistent {
		it.complete = false
		g.insert(it.rank, it.thread, it.op.Step, program.Op{Kind: program.Free, Msg: -1, Slots: it.op.Slots})
	}
}

// complete gives the requests their waits.
func (g *generator) complete() {
	f := g.facts()
	var pending []*item
	for _, it := range g.items {
		if !it.complete {
			continue
		}
		it.from = it.op.Step
		it.done = g.certainAt(f, it)
		if it.done > 0 && !chance(g.rng, g.style.leave) {
			it.done = g.later(it.done)
			pending = append(pending, it)
		}
	}
	groups := g.group(pending)
	g.persist()
	for _, group := range groups {
		g.wait(group)
	}
	g.polls(pending)
}

// certainAt is the first of the units' steps at which what it begins is certain
// to be complete, 0 if there is none.
func (g *generator) certainAt(f facts, it *item) int {
	if it.wish.cancel {
		for _, x := range g.items {
			if x.op.Kind == program.Cancel && x.rank == it.rank && x.op.Slots[0] == it.op.Slots[0] {
				return max(x.op.Step, it.op.Step)
			}
		}
	}
	first, _ := slices.BinarySearch(g.steps, it.op.Step)
	n, _ := slices.BinarySearchFunc(g.steps[first:], true, func(step int, _ bool) int {
		if f.certain(it, step) {
			return 0
		}
		return -1
	})
	// Certainty doesn't always grow with the steps as program sees it; then
	// this finds some step, or Weaken mends it.
	if first+n == len(g.steps) {
		return 0
	}
	return g.steps[first+n]
}

// group puts requests of one thread that end at about the same step together.
func (g *generator) group(pending []*item) (groups [][]*item) {
	slices.SortStableFunc(pending, func(a, b *item) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.thread, b.thread), cmp.Compare(a.done, b.done))
	})
	for i, it := range pending {
		if i > 0 && pending[i-1].rank == it.rank && pending[i-1].thread == it.thread && chance(g.rng, 60) {
			last := &groups[len(groups)-1]
			*last = append(*last, it)
		} else {
			groups = append(groups, []*item{it})
		}
	}
	for _, group := range groups {
		done := group[len(group)-1].done
		for _, it := range group {
			it.done, it.sure = done, true
		}
	}
	return groups
}

// wait waits for a group of requests in one of MPI's ways.
func (g *generator) wait(group []*item) {
	r := g.rng
	last := group[len(group)-1]
	op := program.Op{Msg: -1, Until: true}
	for _, it := range group {
		if !slices.Contains(op.Slots, it.op.Slots[0]) {
			op.Slots = append(op.Slots, it.op.Slots[0])
		}
	}
	r.Shuffle(len(op.Slots), func(i, j int) { op.Slots[i], op.Slots[j] = op.Slots[j], op.Slots[i] })
	op.Kind = pick(r, program.Waitall, program.Waitall, program.Waitall, program.Waitany, program.Waitsome,
		program.Testall, program.Testany, program.Testsome)
	if len(group) == 1 && chance(r, 70) {
		op.Kind = pick(r, program.Wait, program.Wait, program.Test)
	}
	if op.Kind == program.Wait || op.Kind == program.Waitall {
		op.Until = false
	}
	g.insert(last.rank, last.thread, last.done, op)
}

// persist turns the sends and receives for which that was drawn into persistent
// requests, which later ones of the same root use again when they are idle.
func (g *generator) persist() {
	free := map[*item]*item{} // by root: the item that used the request last
	var list []*item
	for _, it := range g.items {
		if it.complete && it.wish.persistent && (it.op.Kind == program.Isend || it.op.Kind == program.Irecv) {
			list = append(list, it)
		}
	}
	slices.SortStableFunc(list, func(a, b *item) int { return cmp.Compare(a.from, b.from) })
	for _, it := range list {
		start := program.Op{Kind: program.Start, Step: it.op.Step, Msg: -1, Msgs: []int{it.op.Msg}}
		if last := free[it.root]; it.root != nil && last != nil && last.sure && last.done < it.from && last.op.Kind == program.Start {
			start.Slots = last.op.Slots
		} else {
			init := it.op
			init.Kind = program.SendInit
			if it.op.Kind == program.Irecv {
				init.Kind = program.RecvInit
			}
			init.Msg = -1
			g.insert(it.rank, it.thread, it.op.Step-stepSize/2, init)
			start.Slots = it.op.Slots
		}
		it.op = start
		if it.root != nil {
			free[it.root] = it
		}
	}
}

// polls adds tests that may find nothing.
func (g *generator) polls(pending []*item) {
	r := g.rng
	for i, it := range pending {
		if !chance(r, g.style.poll) {
			continue
		}
		op := program.Op{Kind: pick(r, program.Test, program.GetStatus, program.Testall, program.Testany, program.Testsome,
			program.Waitany, program.Waitsome), Msg: -1, Slots: []int{it.op.Slots[0]}}
		if op.Kind != program.Test && op.Kind != program.GetStatus {
			for _, other := range pending[i+1:] {
				if other.rank == it.rank && other.thread == it.thread && !slices.Contains(op.Slots, other.op.Slots[0]) && chance(r, 50) {
					op.Slots = append(op.Slots, other.op.Slots[0])
				}
			}
		}
		g.insert(it.rank, it.thread, it.from+stepSize*r.IntN(1+(it.done-it.from)/stepSize), op)
	}
}

// joinStarts makes one Startall of Start operations that follow each other.
func (g *generator) joinStarts() {
	for _, threads := range g.c.Threads {
		for t, ops := range threads {
			var joined []program.Op
			for _, op := range ops {
				if n := len(joined); n > 0 && op.Kind == program.Start && joined[n-1].Kind == program.Start && chance(g.rng, 60) &&
					!slices.Contains(joined[n-1].Slots, op.Slots[0]) {
					last := &joined[n-1]
					last.Slots = append(slices.Clone(last.Slots), op.Slots...)
					last.Msgs = append(slices.Clone(last.Msgs), op.Msgs...)
					last.Step = op.Step
					continue
				}
				joined = append(joined, op)
			}
			threads[t] = joined
		}
	}
}
