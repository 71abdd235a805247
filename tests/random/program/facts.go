package program

// Sent is one message that a case sends.
type Sent struct {
	Place
	Step   int
	Comm   Comm
	Dest   int // receiving rank in MPI_COMM_WORLD
	Source int // rank by which the receiver knows the sender
	Tag    int
	Msg    int
	Cells  int
	Mode   Mode
	Slot   int // -1: the send blocks
}

// Posted is one receive, or a probe that takes its message.
type Posted struct {
	Place
	Step        int
	Comm        Comm
	Source, Tag int // pattern
	Cells       int // of the buffer
	Slot        int // -1: the receive blocks
	Begun       int // step from which the message can move: that of Mrecv for Mprobe
	Conditional bool
	Cancelled   bool // perhaps, outside the epilogue
}

// Matches reports whether the receive accepts the message (MPI-4.0 section
// 3.2.4).
func (p Posted) Matches(s Sent) bool {
	return p.Comm == s.Comm && p.Rank == s.Dest && (p.Source == AnySource || p.Source == s.Source) && (p.Tag == AnyTag || p.Tag == s.Tag)
}

// activity is what one operation begins under one slot: a send, a receive or
// both, as indices into the facts, -1 for none.
type activity struct {
	slot, send, post int
}

// Facts are all messages and receives of a case outside the epilogues. Those to
// and from ProcNull are none.
type Facts struct {
	Sends    []Sent
	Posts    []Posted
	barriers []int // their steps, ascending
	begun    map[Place][]activity
	sent     []int // messages by number: index in Sends, -1 for none
}

// Facts collects them.
func (c *Case) Facts() *Facts {
	f := &Facts{begun: map[Place][]activity{}}
	for rank, threads := range c.Threads {
		for thread, ops := range threads {
			f.addThread(c, rank, thread, ops)
		}
	}
	for i, s := range f.Sends {
		for len(f.sent) <= s.Msg {
			f.sent = append(f.sent, -1)
		}
		f.sent[s.Msg] = i
	}
	return f
}

// Message finds a message by its number.
func (f *Facts) Message(n int) (Sent, bool) {
	if n < 0 || n >= len(f.sent) || f.sent[n] < 0 {
		return Sent{}, false
	}
	return f.Sends[f.sent[n]], true
}

func (f *Facts) addThread(c *Case, rank, thread int, ops []Op) {
	inits := map[int]*Op{}   // persistent requests by slot
	running := map[int]int{} // index of the receive that a slot stands for
	matched := map[int]int{} // likewise for a matched message
	for i := range ops {
		op, p := &ops[i], Place{rank, thread, i}
		switch op.Kind {
		case SendInit, RecvInit:
			inits[op.Slots[0]] = op
		case Start:
			for k, slot := range op.Slots {
				if init := inits[slot]; init != nil {
					running[slot] = f.begin(c, p, op.Step, init, op.Msgs[k], slot).post
				}
			}
		case Cancel:
			if post, ok := running[op.Slots[0]]; ok && post >= 0 {
				f.Posts[post].Cancelled = true
			}
		case Barrier:
			if rank == 0 {
				f.barriers = append(f.barriers, op.Step)
			}
		case Mrecv:
			if post, ok := matched[op.Handle]; ok {
				f.Posts[post].Begun = op.Step
			}
		default:
			slot := -1
			if op.Kind.MakesRequest() {
				slot = op.Slots[0]
			}
			a := f.begin(c, p, op.Step, op, op.Msg, slot)
			switch {
			case op.Kind == Imrecv:
				if post, ok := matched[op.Handle]; ok {
					f.Posts[post].Begun = op.Step
				}
			case slot >= 0:
				running[slot] = a.post
			case op.Kind == Mprobe || op.Kind == Improbe:
				if a.post >= 0 {
					matched[op.Handle] = a.post
				}
			}
		}
	}
}

// begin notes what op, which stands at p or was made persistent before, begins.
func (f *Facts) begin(c *Case, p Place, step int, op *Op, msg, slot int) activity {
	a := activity{slot, -1, -1}
	if op.Kind.Sends() && op.Send.Peer != ProcNull && msg >= 0 {
		dest := op.Comm.Remote(c.Ranks, p.Rank)[op.Send.Peer]
		a.send = len(f.Sends)
		f.Sends = append(f.Sends, Sent{p, step, op.Comm, dest, op.Comm.RankOf(c.Ranks, dest, p.Rank), op.Send.Tag,
			msg, op.Send.Layout.Cells(), op.Mode, slot})
	}
	if op.Kind.Receives() && op.Recv.Peer != ProcNull {
		a.post = len(f.Posts)
		f.Posts = append(f.Posts, Posted{p, step, op.Comm, op.Recv.Peer, op.Recv.Tag, op.RecvCells(), slot, step, op.Kind.Conditional(), false})
	}
	if a.send >= 0 || a.post >= 0 || slot >= 0 {
		f.begun[p] = append(f.begun[p], a)
	}
	return a
}

// RecvCells is how many cells the receiving half has room for.
func (op *Op) RecvCells() int {
	if op.Kind.Replaces() {
		return op.Send.Layout.Cells()
	}
	return op.Recv.Layout.Cells()
}
