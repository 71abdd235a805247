package model

import (
	"fmt"
	"strings"
)

// moment is a node of the graph: when a message was matched or seen, or a
// receive cancelled.
type moment struct {
	t      *taker
	lo, hi int64 // bounds
	why    string
	from   int // the moment that lo follows from, -1 for its own
	next   []edge
	before int // moments that must come before and aren't settled
}

// edge says that a moment comes before another, and why.
type edge struct {
	to  int
	why string
}

// order looks for a moment for everything.
func (k *checker) order() {
	g := k.graph()
	k.settle(g)
}

func (k *checker) graph() []moment {
	var g []moment
	for _, t := range k.takers {
		t.node = -1
		m := moment{t: t, lo: t.posted, hi: t.done, from: -1}
		switch {
		case t.cancelled:
			m.lo = t.cancelling
		case t.message == nil:
			continue // PROC_NULL, or a look at what nobody can tell
		default:
			m.lo = max(m.lo, t.message.begun)
			if !t.look {
				m.hi = min(m.hi, t.message.synced)
			}
		}
		t.node = len(g)
		g = append(g, m)
	}
	join := func(a, b *taker, format string, args ...any) {
		if a.node >= 0 && b.node >= 0 && a != b {
			g[a.node].next = append(g[a.node].next, edge{b.node, fmt.Sprintf(format, args...)})
			g[b.node].before++
		}
	}
	for _, t := range k.takers {
		m := t.message
		if m == nil {
			continue
		}
		for _, r := range k.takers {
			if !r.look && r.Comm == t.Comm && r.before(t) && r.accepts(m) {
				join(r, t, "an earlier receive accepts message %d too", m.Msg)
			}
		}
		for _, s := range k.f.Sends {
			if e := k.messages[s.Msg]; s.Comm == m.Comm && s.Dest == m.Dest && s.Before(m.Place) && t.accepts(e) && e.taker != nil {
				join(e.taker, t, "message %d was sent before message %d, and the receive accepts both", e.Msg, m.Msg)
			}
		}
		if t.look && m.taker != nil {
			join(t, m.taker, "message %d was probed before it was received", m.Msg)
		}
	}
	return g
}

// settle goes through the graph in topological order and raises the lower
// bounds.
func (k *checker) settle(g []moment) {
	var ready []int
	for i := range g {
		if g[i].before == 0 {
			ready = append(ready, i)
		}
	}
	settled := 0
	for ; len(ready) > 0; settled++ {
		i := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		if g[i].lo > g[i].hi {
			k.problems = append(k.problems, k.late(g, i))
			return
		}
		for _, e := range g[i].next {
			n := &g[e.to]
			if g[i].lo > n.lo {
				n.lo, n.from, n.why = g[i].lo, i, e.why
			}
			if n.before--; n.before == 0 {
				ready = append(ready, e.to)
			}
		}
	}
	if settled < len(g) {
		k.problems = append(k.problems, k.cycle(g))
	}
}

// late explains a moment that comes too late.
func (k *checker) late(g []moment, i int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "out of order: this was over %.1f µs before it could happen:", float64(g[i].lo-g[i].hi)/1000)
	for ; i >= 0; i = g[i].from {
		fmt.Fprintf(&b, "\n    %s", k.tell(g[i].t))
		if g[i].from >= 0 {
			fmt.Fprintf(&b, "\n      must come after (%s)", g[i].why)
		} else {
			fmt.Fprintf(&b, "\n      which could not happen before %d ns, when it had begun on both sides", g[i].lo)
		}
	}
	return b.String()
}

// cycle explains a cycle: what is left of the graph when all that can be settled
// is.
func (k *checker) cycle(g []moment) string {
	i := 0
	for g[i].before == 0 {
		i++
	}
	// Everything that isn't settled has a predecessor that isn't; going back
	// ends in a cycle.
	before := func(i int) (int, string) {
		for j := range g {
			if g[j].before == 0 {
				continue
			}
			for _, e := range g[j].next {
				if e.to == i {
					return j, e.why
				}
			}
		}
		return -1, ""
	}
	for range g {
		i, _ = before(i)
	}
	var b strings.Builder
	b.WriteString("out of order:")
	for j := i; ; {
		p, why := before(j)
		fmt.Fprintf(&b, "\n    %s\n      must come after (%s)", k.tell(g[j].t), why)
		if j = p; j == i {
			break
		}
	}
	fmt.Fprintf(&b, "\n    %s", k.tell(g[i].t))
	return b.String()
}

// tell says what a receive or probe did.
func (k *checker) tell(t *taker) string {
	switch {
	case t.cancelled:
		return "cancelled: " + k.at(t.Place)
	case t.look:
		return fmt.Sprintf("message %d probed: %s", t.message.Msg, k.at(t.Place))
	}
	return fmt.Sprintf("message %d (%s) received: %s", t.message.Msg, k.at(t.message.Place), k.at(t.Place))
}
