// Package shrink makes a failing program (package program) smaller while it
// still fails.
//
// It takes operations away, halves of what is left at first, then fewer and
// fewer (delta debugging), and then makes those that remain simpler: shorter
// messages, plain layouts, MPI_COMM_WORLD, standard mode. What the rest has to
// wait for without the part that was taken away is weakened to what doesn't
// wait (program.Case.Weaken), so that every candidate is as sound as what the
// generator makes.
package shrink

import (
	"slices"

	"cmpi/tests/random/program"
)

// Shrink gives a smaller case for which fails still says true, as it does for c.
func Shrink(c *program.Case, fails func(*program.Case) bool) *program.Case {
	for {
		size := weight(c)
		c = remove(c, fails)
		c = simplify(c, fails)
		if weight(c) >= size {
			return c
		}
	}
}

// weight falls with every success.
func weight(c *program.Case) int {
	n := 0
	for _, threads := range c.Threads {
		for _, ops := range threads {
			for i := range ops {
				n += 1 << 20
				n += complexity(&ops[i])
			}
		}
	}
	return n
}

func complexity(op *program.Op) int {
	n := op.Send.Layout.Cells() + op.RecvCells() + 100*int(op.Comm) + 100*int(op.Mode) + 100*int(op.Flags) + op.Micros
	if !op.Send.Layout.IsPlain() || !op.Recv.Layout.IsPlain() {
		n += 1000
	}
	return n
}

// atom is what is taken away at once.
type atom []program.Place

// atoms divides a case: collective operations go on all ranks, others alone.
func atoms(c *program.Case) (list []atom) {
	collective := map[int]int{} // step → index in list
	for rank, threads := range c.Threads {
		for thread, ops := range threads {
			for i, op := range ops {
				p := program.Place{Rank: rank, Thread: thread, Index: i}
				if op.Kind == program.MakeFresh && usesFresh(c) {
					continue
				}
				if op.Kind.Collective() {
					if n, ok := collective[op.Step]; ok {
						list[n] = append(list[n], p)
						continue
					}
					collective[op.Step] = len(list)
				}
				list = append(list, atom{p})
			}
		}
	}
	return list
}

func usesFresh(c *program.Case) bool {
	for _, threads := range c.Threads {
		for _, ops := range threads {
			for _, op := range ops {
				if op.Comm == program.Fresh && op.Kind != program.MakeFresh {
					return true
				}
			}
		}
	}
	return false
}

// remove takes away what it can.
func remove(c *program.Case, fails func(*program.Case) bool) *program.Case {
	for n := 2; ; {
		list := atoms(c)
		if len(list) == 0 {
			return c
		}
		n = min(n, len(list))
		smaller := false
		for i := range n {
			part := list[i*len(list)/n : (i+1)*len(list)/n]
			if d := without(c, part); fails(d) {
				c, smaller = d, true
				break
			}
		}
		switch {
		case smaller:
			n = max(n-1, 2)
		case n == len(list):
			return c
		default:
			n = min(2*n, len(list))
		}
	}
}

// without is the case without some of its operations and without what makes no
// sense any more.
func without(c *program.Case, part []atom) *program.Case {
	d := c.Clone()
	gone := map[program.Place]bool{}
	for _, a := range part {
		for _, p := range a {
			gone[p] = true
		}
	}
	for rank, threads := range d.Threads {
		for thread, ops := range threads {
			var left []program.Op
			for i, op := range ops {
				if !gone[program.Place{Rank: rank, Thread: thread, Index: i}] {
					left = append(left, op)
				}
			}
			threads[thread] = tidy(left)
		}
	}
	return finish(d)
}

// tidy drops operations on requests and matched messages that nobody makes.
func tidy(ops []program.Op) (left []program.Op) {
	slots, persistent, handles := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for _, op := range ops {
		switch k := op.Kind; {
		case k == program.Mprobe || k == program.Improbe:
			handles[op.Handle] = true
		case k == program.Mrecv || k == program.Imrecv:
			if !handles[op.Handle] {
				continue
			}
		}
		if op.Kind.MakesRequest() {
			slots[op.Slots[0]] = true
			persistent[op.Slots[0]] = op.Kind == program.SendInit || op.Kind == program.RecvInit
		} else if len(op.Slots) > 0 {
			for i := len(op.Slots) - 1; i >= 0; i-- {
				if s := op.Slots[i]; !slots[s] || op.Kind == program.Start && !persistent[s] {
					op.Slots = slices.Delete(op.Slots, i, i+1)
					if op.Kind == program.Start {
						op.Msgs = slices.Delete(op.Msgs, i, i+1)
					}
				}
			}
			if len(op.Slots) == 0 {
				continue
			}
		}
		left = append(left, op)
	}
	return received(left)
}

// received drops the matched probes whose messages nobody receives any more.
func received(ops []program.Op) []program.Op {
	handles := map[int]bool{}
	for _, op := range ops {
		if op.Kind == program.Mrecv || op.Kind == program.Imrecv {
			handles[op.Handle] = true
		}
	}
	return slices.DeleteFunc(ops, func(op program.Op) bool {
		return (op.Kind == program.Mprobe || op.Kind == program.Improbe) && !handles[op.Handle]
	})
}

// finish makes a changed case sound and complete again.
func finish(c *program.Case) *program.Case {
	c.Weaken()
	c.Finish()
	return c
}

// simplify makes the operations simpler, one change at a time.
func simplify(c *program.Case, fails func(*program.Case) bool) *program.Case {
	try := func(change func(*program.Case) bool) {
		if d := c.Clone(); change(d) && weight(d) < weight(c) {
			if d = finish(d); fails(d) {
				c = d
			}
		}
	}
	try(func(d *program.Case) bool { return all(d, plain) })
	try(func(d *program.Case) bool { return all(d, func(op *program.Op) { op.Flags = 0 }) })
	try(func(d *program.Case) bool { return all(d, toWorld) })
	for rank := range c.Ranks {
		for thread := range c.Threads[rank] {
			for i := range c.Threads[rank][thread] {
				for _, change := range changes {
					try(func(d *program.Case) bool {
						if ops := d.Threads[rank][thread]; i < len(ops) {
							change(&ops[i])
							return true
						}
						return false
					})
				}
			}
		}
	}
	return c
}

func all(c *program.Case, change func(*program.Op)) bool {
	for _, threads := range c.Threads {
		for _, ops := range threads {
			for i := range ops {
				change(&ops[i])
			}
		}
	}
	return true
}

// changes make one operation simpler. Lengths of messages stay above zero, so
// that a message still says which one it is; buffers stay large enough.
var changes = []func(*program.Op){
	plain,
	func(op *program.Op) { op.Flags = 0 },
	func(op *program.Op) { op.Micros = 0 },
	func(op *program.Op) { op.Mode = program.Standard },
	shorter(1),
	shorter(10),
	shorter(1000),
}

// toWorld moves to MPI_COMM_WORLD what uses a duplicate of it.
func toWorld(op *program.Op) {
	if op.Kind != program.MakeFresh && (op.Comm == program.Copy || op.Comm == program.Fresh) {
		op.Comm = program.World
	}
}

func plain(op *program.Op) {
	for _, h := range []*program.Half{&op.Send, &op.Recv} {
		if n := h.Layout.Cells(); !h.Layout.IsPlain() {
			h.Layout = program.Plain(n)
		}
	}
}

// shorter cuts the message that is sent.
func shorter(n int) func(*program.Op) {
	return func(op *program.Op) {
		if op.Kind.Sends() && !op.Kind.Replaces() && op.Send.Layout.Cells() > n {
			op.Send.Layout = program.Plain(n)
		}
	}
}
