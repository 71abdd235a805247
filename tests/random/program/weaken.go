package program

import (
	"maps"
	"slices"
)

// Weaken turns operations that might wait for ever into such that don't wait,
// until the case is sound.
func (c *Case) Weaken() {
	for {
		unsafe := c.Unsafe()
		if len(unsafe) == 0 {
			return
		}
		at := map[Place][]Unsafe{}
		for _, u := range unsafe {
			at[u.Place] = append(at[u.Place], u)
		}
		for rank, threads := range c.Threads {
			for thread, ops := range threads {
				var weaker []Op
				for i, op := range ops {
					if us := at[Place{rank, thread, i}]; us != nil {
						weaker = append(weaker, c.weaken(rank, op, us)...)
					} else {
						weaker = append(weaker, op)
					}
				}
				threads[thread] = weaker
			}
		}
	}
}

// weaken gives what replaces op, an operation of a rank.
func (c *Case) weaken(rank int, op Op, us []Unsafe) []Op {
	for _, u := range us {
		if u.Slot >= 0 {
			continue
		}
		if op.Mode == Ready {
			op.Mode = Standard
			return []Op{op}
		}
		return c.nonblocking(rank, op)
	}
	// Requests that can't be started or waited for.
	if op.Kind.partial() && !op.Until {
		op.Kind++ // Testany, Testsome
		return []Op{op}
	}
	for _, u := range us {
		i := slices.Index(op.Slots, u.Slot)
		op.Slots = slices.Delete(slices.Clone(op.Slots), i, i+1)
		if op.Kind == Start {
			op.Msgs = slices.Delete(slices.Clone(op.Msgs), i, i+1)
		}
	}
	if len(op.Slots) == 0 {
		return nil
	}
	return []Op{op}
}

// nonblocking gives the operations that begin the same without waiting.
func (c *Case) nonblocking(rank int, op Op) []Op {
	request := func(k Kind) []Op {
		op.Kind, op.Slots = k, []int{c.newSlot(rank)}
		return []Op{op}
	}
	switch op.Kind {
	case Send:
		return request(Isend)
	case Recv:
		return request(Irecv)
	case Sendrecv:
		return request(Isendrecv)
	case SendrecvReplace:
		return request(IsendrecvReplace)
	case Isendrecv, IsendrecvReplace:
		recv, send := op, op
		recv.Kind, recv.Send, recv.Msg = Irecv, Half{}, -1
		if op.Kind.Replaces() {
			recv.Recv.Layout = op.Send.Layout
		}
		// The slot stays with the receive, which others may wait for.
		send.Kind, send.Recv, send.Slots = Isend, Half{}, []int{c.newSlot(rank)}
		return []Op{recv, send}
	case Probe:
		op.Kind = Iprobe
	case ProbeRecv:
		op.Kind = IprobeRecv
	case Mprobe:
		op.Kind = Improbe
	}
	return []Op{op}
}

// Split makes two requests of every Isendrecv.
func (c *Case) Split() {
	for rank, threads := range c.Threads {
		for thread, ops := range threads {
			var split []Op
			for _, op := range ops {
				if op.Kind == Isendrecv || op.Kind == IsendrecvReplace {
					split = append(split, c.nonblocking(rank, op)...)
				} else {
					split = append(split, op)
				}
			}
			threads[thread] = split
		}
	}
}

// newSlot is a request slot that the rank doesn't use yet.
func (c *Case) newSlot(rank int) int {
	n := 0
	for _, ops := range c.Threads[rank] {
		for _, op := range ops {
			for _, s := range op.Slots {
				n = max(n, s+1)
			}
		}
	}
	for len(c.Slots) < c.Ranks {
		c.Slots = append(c.Slots, 0)
	}
	n = max(n, c.Slots[rank])
	c.Slots[rank] = n + 1
	return n
}

func sortedKeys[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }
