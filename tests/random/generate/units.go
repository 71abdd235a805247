package generate

import (
	"cmpi/tests/random/program"
)

// maxMessages keeps a message's number in one byte, with which its payload
// begins.
const maxMessages = 250

// units draws what the case consists of.
func (g *generator) units() {
	r := g.rng
	n := 1 + r.IntN(pick(r, 3, 10, 10, 25))
	if g.uses(program.Fresh) {
		for rank := range g.p.Ranks {
			g.add(rank, 0, -1, program.Op{Kind: program.MakeFresh, Comm: program.Fresh, Msg: -1})
		}
	}
	hot := [2]int{r.IntN(g.p.Ranks), r.IntN(g.p.Ranks)}
	for i := range n {
		key := float64(i) + r.Float64()*g.style.spread
		switch {
		case chance(r, g.style.collective):
			g.collective(key)
		case chance(r, g.style.cycles):
			g.cycle(key)
		case chance(r, g.style.nulls):
			g.null(key)
		default:
			g.message(key, hot)
		}
		if chance(r, g.style.sleep) {
			g.add(r.IntN(g.p.Ranks), r.IntN(g.p.Threads), key+r.Float64(), program.Op{Kind: program.Sleep, Msg: -1,
				Micros: pick(r, 0, 0, 10, 100, 1000)})
		}
	}
}

func (g *generator) uses(c program.Comm) bool {
	for _, x := range g.style.comms {
		if x == c {
			return true
		}
	}
	return false
}

// message draws a message, its receive, and when each begins.
func (g *generator) message(key float64, hot [2]int) {
	r := g.rng
	if chance(r, g.style.persistent) && g.again(key) {
		return
	}
	if g.msgs == maxMessages {
		return
	}
	comm := pick(r, g.style.comms...)
	src := r.IntN(g.p.Ranks)
	if chance(r, g.style.hot) {
		src = hot[0]
	}
	peers := comm.Remote(g.p.Ranks, src)
	dest := pick(r, peers...)
	if chance(r, g.style.hot) && comm.RankOf(g.p.Ranks, src, hot[1]) >= 0 {
		dest = hot[1]
	}
	from, to := g.threads(comm)
	tag := g.tag(from)
	send := g.send(src, from, key, comm, dest, tag)
	if chance(r, g.style.leaveOut) {
		if chance(r, 50) {
			return // nobody receives it but the epilogue
		}
		g.recv(dest, to, key, comm, src, tag) // and one that may get nothing
	}
	recv := g.recv(dest, to, key, comm, src, tag)
	sameThread := src == dest && from == to
	if !chance(r, g.style.fused) || sameThread {
		delay := r.ExpFloat64() * g.style.spread
		if chance(r, g.style.early) {
			if recv.key -= delay; recv.key < 0 {
				recv.key = -r.Float64() // behind MakeFresh
			}
		} else {
			recv.key += delay
		}
	}
	if recv.wish.persistent {
		send.wish.persistent = true
		send.root, recv.root = send, recv
	}
	if recv.wish.cancel {
		g.add(dest, to, recv.key+r.Float64()*g.style.spread, program.Op{Kind: program.Cancel, Msg: -1, Slots: recv.op.Slots})
	}
}

// threads draws a sending and a receiving thread.
func (g *generator) threads(c program.Comm) (from, to int) {
	if c == program.Fresh {
		return 0, 0 // the only thread that knows when it is made
	}
	from, to = g.rng.IntN(g.p.Threads), g.rng.IntN(g.p.Threads)
	if g.style.paired {
		to = from
	}
	return from, to
}

// tag draws a tag for messages of a thread.
func (g *generator) tag(thread int) int {
	t := pick(g.rng, g.style.tags...)
	if g.style.paired && thread > 0 {
		t = t%10_000 + 10_000*thread
	}
	return t
}

// send draws a message. It is a plain Isend until it gets its form.
func (g *generator) send(src, thread int, key float64, comm program.Comm, dest, tag int) *item {
	it := g.add(src, thread, key, program.Op{Kind: program.Isend, Comm: comm, Msg: g.number(), Flags: g.flags(), Slots: g.slot(src),
		Send: program.Half{Peer: comm.RankOf(g.p.Ranks, src, dest), Tag: tag, Layout: g.layout(g.length(comm, src, dest, tag))}})
	it.wish.block = chance(g.rng, g.style.block)
	it.wish.free = chance(g.rng, g.style.free)
	return it
}

// number is the next message's.
func (g *generator) number() int {
	g.msgs++
	return g.msgs - 1
}

// length draws a message's length in cells. Of messages without data, only one
// may have a given envelope, by which it is known.
func (g *generator) length(comm program.Comm, src, dest, tag int) int {
	n := g.cells()
	if n == 0 {
		envelope := [4]int{int(comm), src, dest, tag}
		if g.empty[envelope] {
			return 1
		}
		g.empty[envelope] = true
	}
	return n
}

// recv draws a receive that accepts a message. It is a plain Irecv until it gets
// its form.
func (g *generator) recv(dest, thread int, key float64, comm program.Comm, src, tag int) *item {
	r := g.rng
	it := g.add(dest, thread, key, program.Op{Kind: program.Irecv, Comm: comm, Msg: -1, Flags: g.flags(), Slots: g.slot(dest),
		Recv: g.pattern(dest, comm, src, tag)})
	switch {
	case chance(r, g.style.cancel):
		it.wish.cancel = true
	case chance(r, g.style.probe):
		it.wish.probe = true
	case chance(r, g.style.match):
		it.wish.match = true
	case chance(r, g.style.persistent):
		it.wish.persistent = true
	}
	it.wish.block = chance(r, g.style.block)
	return it
}

func (g *generator) pattern(dest int, comm program.Comm, src, tag int) program.Half {
	h := program.Half{Peer: comm.RankOf(g.p.Ranks, dest, src), Tag: tag}
	if chance(g.rng, g.style.anySource) {
		h.Peer = program.AnySource
	}
	if chance(g.rng, g.style.anyTag) {
		h.Tag = program.AnyTag
	}
	return h
}

func (g *generator) flags() (f program.Flags) {
	for bit := program.Flags(1); bit <= program.AllFlags; bit <<= 1 {
		if chance(g.rng, g.style.flags) {
			f |= bit
		}
	}
	return f
}

// again draws another message on an earlier persistent request, and on that of
// its receive.
func (g *generator) again(key float64) bool {
	var roots []*item
	for _, it := range g.items {
		if it.root == it && it.op.Kind == program.Isend && it.op.Send.Layout.Cells() > 0 {
			roots = append(roots, it)
		}
	}
	if len(roots) == 0 || g.msgs == maxMessages {
		return false
	}
	root := pick(g.rng, roots...)
	for _, it := range g.items {
		if it.root != it || it.op.Kind != program.Irecv || it.op.Comm != root.op.Comm || it.op.Recv.Tag != root.op.Send.Tag {
			continue
		}
		if peers := root.op.Comm.Remote(g.p.Ranks, root.rank); it.rank != peers[root.op.Send.Peer] {
			continue
		}
		recv := g.add(it.rank, it.thread, key+g.rng.Float64()*g.style.spread, it.op)
		recv.op.Slots = g.slot(it.rank)
		recv.wish, recv.root = it.wish, it
		break
	}
	send := g.add(root.rank, root.thread, key, root.op)
	send.op.Msg, send.op.Slots = g.number(), g.slot(root.rank)
	send.wish, send.root = root.wish, root
	return true
}

// cycle draws Sendrecv operations of some ranks, each to the next.
func (g *generator) cycle(key float64) {
	r := g.rng
	comm := pick(r, g.style.comms...)
	n := 1 + r.IntN(g.p.Ranks)
	if comm == program.Inter || comm == program.Parity || g.msgs+n > maxMessages {
		return // its ranks don't form cycles of every length
	}
	ranks := r.Perm(g.p.Ranks)[:n]
	thread, _ := g.threads(comm)
	var tags []int
	for range ranks {
		tags = append(tags, g.tag(thread))
	}
	for i, rank := range ranks {
		to, before := (i+1)%n, (i+n-1)%n
		kind := program.Sendrecv
		if chance(r, 30) {
			kind = program.SendrecvReplace
		}
		it := g.add(rank, thread, key, program.Op{Kind: kind, Comm: comm, Msg: g.number(), Flags: g.flags(),
			Send: program.Half{Peer: comm.RankOf(g.p.Ranks, rank, ranks[to]), Tag: tags[i], Layout: g.layout(g.length(comm, rank, ranks[to], tags[i]))},
			Recv: g.pattern(rank, comm, ranks[before], tags[before])})
		it.wish.block = chance(r, g.style.block)
	}
}

// null draws an operation to or from MPI_PROC_NULL.
func (g *generator) null(key float64) {
	r := g.rng
	h := program.Half{Peer: program.ProcNull, Tag: pick(r, g.style.tags...), Layout: program.Plain(r.IntN(4))}
	op := program.Op{Comm: program.World, Msg: -1, Kind: pick(r, program.Send, program.Isend, program.Recv, program.Irecv, program.Sendrecv)}
	if op.Kind.Sends() {
		op.Send = h
	}
	if op.Kind.Receives() {
		op.Recv = h
	}
	rank := r.IntN(g.p.Ranks)
	if op.Kind.MakesRequest() {
		op.Slots = g.slot(rank)
	}
	it := g.add(rank, r.IntN(g.p.Threads), key, op)
	it.complete = op.Kind.MakesRequest()
}

// collective draws an operation of all ranks.
func (g *generator) collective(key float64) {
	kind := pick(g.rng, program.Barrier, program.Ibarrier)
	for rank := range g.p.Ranks {
		op := program.Op{Kind: kind, Comm: program.World, Msg: -1}
		if kind == program.Ibarrier {
			op.Slots = g.slot(rank)
		}
		it := g.add(rank, 0, key, op)
		it.complete = kind == program.Ibarrier
	}
}
