package program

// BsendOverhead is room beside the data of each message in the buffer of
// buffered sends: above MPI_BSEND_OVERHEAD of any MPI, and some for what is
// lost to fragmentation.
const BsendOverhead = 1024

// Finish makes the epilogues of a sound case, and counts what the executor has
// to prepare.
func (c *Case) Finish() {
	f := c.Facts()
	c.Epilogue = make([][]Op, c.Ranks)
	c.Slots, c.Handles, c.Attach = make([]int, c.Ranks), make([]int, c.Ranks), make([]int, c.Ranks)
	for rank := range c.Ranks {
		c.Epilogue[rank] = c.epilogue(f, rank)
		c.count(rank)
	}
	for _, s := range f.Sends {
		if s.Mode == Buffered {
			c.Attach[s.Rank] += s.Cells*c.Cell.Size() + BsendOverhead
		}
	}
}

// count finds how many slots the rank uses.
func (c *Case) count(rank int) {
	for _, ops := range c.Threads[rank] {
		for _, op := range ops {
			for _, s := range op.Slots {
				c.Slots[rank] = max(c.Slots[rank], s+1)
			}
			switch op.Kind {
			case Mprobe, Improbe, Mrecv, Imrecv:
				c.Handles[rank] = max(c.Handles[rank], op.Handle+1)
			}
		}
	}
}

// epilogue ends what the threads of a rank have left.
func (c *Case) epilogue(f *Facts, rank int) (ops []Op) {
	o := c.outstanding(f, rank)
	missing, most := [Comms]int{}, [Comms]int{}
	for _, s := range f.Sends {
		if s.Dest == rank {
			missing[s.Comm]++
			most[s.Comm] = max(most[s.Comm], s.Cells)
		}
	}
	fresh := c.usesFresh()
	early := fresh && f.freshIsCertain()
	if early {
		// Pending operations outlive their communicator (MPI-4.0 section 7.4.3).
		ops = append(ops, Op{Kind: FreeFresh, Comm: Fresh})
	}
	if len(o.Certain) > 0 {
		ops = append(ops, c.ending(o.Certain, rank))
	}
	if len(o.Uncertain) > 0 {
		ops = append(ops, Op{Kind: CancelRest, Slots: o.Uncertain})
	}
	for comm, n := range missing {
		if n > 0 && !(early && Comm(comm) == Fresh) {
			ops = append(ops, Op{Kind: Drain, Comm: Comm(comm), Count: n, Recv: Half{AnySource, AnyTag, Plain(most[comm])}})
		}
	}
	if len(o.Sends) > 0 {
		ops = append(ops, c.ending(o.Sends, rank+1))
	}
	if len(o.Persistent) > 0 {
		ops = append(ops, Op{Kind: FreeRest, Slots: o.Persistent})
	}
	if fresh && !early {
		ops = append(ops, Op{Kind: FreeFresh, Comm: Fresh})
	}
	return ops
}

// ending waits for all of the slots, in one way or another.
func (c *Case) ending(slots []int, salt int) Op {
	kinds := []Kind{Waitall, Waitall, Waitany, Waitsome, Testall, Testany, Testsome}
	return Op{Kind: kinds[(c.Key+uint64(salt))%uint64(len(kinds))], Slots: slots, Until: true}
}

func (c *Case) usesFresh() bool {
	for _, op := range c.Threads[0][0] {
		if op.Kind == MakeFresh {
			return true
		}
	}
	return false
}

// freshIsCertain reports that every message on Fresh is certain to be received,
// and every receive to get one, without help of an epilogue.
func (f *Facts) freshIsCertain() bool {
	n := 0
	for _, s := range f.Sends {
		if s.Comm == Fresh {
			n++
		}
	}
	for _, p := range f.Posts {
		if p.Comm != Fresh {
			continue
		}
		n--
		if p.Conditional || p.Cancelled || !f.RecvCertain(p, Forever) {
			return false
		}
	}
	return n == 0
}
