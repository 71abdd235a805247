package program

import (
	"fmt"
	"strings"
)

// String is the case as a person reads it: MPI calls, by rank and thread, each
// with its step.
func (c *Case) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "case %d: %d ranks, cell = %v\n", c.Number, c.Ranks, c.Cell)
	for rank, threads := range c.Threads {
		for thread, ops := range threads {
			if len(ops) == 0 && thread > 0 {
				continue
			}
			name := fmt.Sprintf("rank %d", rank)
			if len(threads) > 1 {
				name += fmt.Sprintf(", thread %d", thread)
			}
			fmt.Fprintf(&b, "%s:\n", name)
			for i := range ops {
				fmt.Fprintf(&b, "  %3d  %-6d %s\n", i, ops[i].Step, c.Describe(&ops[i]))
			}
		}
		if rank < len(c.Epilogue) && len(c.Epilogue[rank]) > 0 {
			fmt.Fprintf(&b, "rank %d, at the end:\n", rank)
			for i := range c.Epilogue[rank] {
				fmt.Fprintf(&b, "  %3d         %s\n", i, c.Describe(&c.Epilogue[rank][i]))
			}
		}
	}
	return b.String()
}

// Describe is one operation as a person reads it.
func (c *Case) Describe(op *Op) string {
	name := op.Kind.String()
	if op.Kind.Sends() && op.Kind != Sendrecv && op.Kind != SendrecvReplace && op.Kind != Isendrecv && op.Kind != IsendrecvReplace {
		name = modeName(op.Kind, op.Mode)
	}
	if op.Kind == Start && len(op.Slots) > 1 {
		name = "Startall"
	}
	var args []string
	add := func(format string, a ...any) { args = append(args, fmt.Sprintf(format, a...)) }
	if op.Kind.Sends() {
		if op.Msg >= 0 {
			add("message %d", op.Msg)
		}
		add("%v to %s tag %d", op.Send.Layout, peer(op.Send.Peer), op.Send.Tag)
	}
	if op.Kind.Receives() || op.Kind.Probes() || op.Kind == Drain {
		text := fmt.Sprintf("from %s %s", peer(op.Recv.Peer), tag(op.Recv.Tag))
		if !op.Kind.Probes() && op.Recv.Layout.Type != nil {
			text = fmt.Sprintf("%v %s", op.Recv.Layout, text)
		}
		add("%s", text)
	}
	if op.Kind.Sends() || op.Kind.Receives() || op.Kind.Probes() || op.Kind == Drain {
		add("%v", op.Comm)
	}
	switch op.Kind {
	case Mprobe, Improbe:
		add("handle m%d", op.Handle)
	case Mrecv, Imrecv:
		add("%v of m%d", op.Recv.Layout, op.Handle)
	case Start:
		for i, m := range op.Msgs {
			if m >= 0 {
				add("r%d with message %d", op.Slots[i], m)
			} else {
				add("r%d", op.Slots[i])
			}
		}
	case Sleep:
		add("%d µs", op.Micros)
	case Drain:
		add("what is missing of %d messages", op.Count)
	}
	if op.Tries > 1 {
		add("up to %d times", op.Tries)
	}
	if op.Kind.MakesRequest() {
		name = fmt.Sprintf("r%d = %s", op.Slots[0], name)
	} else if op.Kind != Start {
		for _, s := range op.Slots {
			add("r%d", s)
		}
	}
	if op.Until {
		name += " until done"
	}
	for i, f := range []string{"large count", "MPI_BOTTOM", "type freed at once"} {
		if op.Flags&(1<<i) != 0 {
			add("%s", f)
		}
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

func modeName(k Kind, m Mode) string {
	letter := [Modes]string{"", "s", "b", "r"}[m]
	switch {
	case k == Isend:
		return "I" + letter + "send"
	case m == Standard:
		return k.String()
	}
	return strings.ToUpper(letter) + strings.ToLower(k.String())
}

func peer(p int) string {
	switch p {
	case AnySource:
		return "any"
	case ProcNull:
		return "PROC_NULL"
	}
	return fmt.Sprint(p)
}

func tag(t int) string {
	if t == AnyTag {
		return "any tag"
	}
	return fmt.Sprintf("tag %d", t)
}
