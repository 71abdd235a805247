// Package modelcheck explores the arena's mutual exclusion exhaustively: every
// interleaving of two or three hosts, each with a cache that the others do not
// snoop, is executed on a model of a few bytes.
//
// It is a small explicit-state explorer (Explore) and two models: the pool lock
// (Lock) and the splitter by which a host wins its entry (Claim). The models'
// steps carry the numbers of the algorithm in package arena and docs/arena.md.
// Variants with one step missing show that the explorer would notice.
//
// # Memory
//
// A line holds one small number. A host's store makes the line dirty in its
// cache; it reaches memory at the host's flush or at any moment before. A host's
// load gives its own dirty value, else the value that memory had at some moment
// since the host last invalidated the line: it may have been prefetched at any
// time, and dropped and fetched again.
package modelcheck

import (
	"fmt"
	"slices"
	"strings"
)

// Model is a transition system with states S.
type Model[S comparable] interface {
	// Initial is the state to start from.
	Initial() S
	// Next calls emit for every state that one step leads to, with a text
	// saying who does what.
	Next(s S, emit func(label string, next S))
	// Bad says what is wrong with s, or nothing.
	Bad(s S) string
	// Done says whether nobody has to do anything in s. From every state such a
	// state must be reachable.
	Done(s S) bool
}

// Result is what an exploration found.
type Result struct {
	States, Transitions int
	Complete            bool     // every reachable state was visited
	Violation           string   // empty: none
	Trace               []string // the shortest way there, one step per line
}

func (r Result) String() string {
	s := fmt.Sprintf("%d states, %d transitions", r.States, r.Transitions)
	if !r.Complete && r.Violation == "" {
		s += ", not all visited"
	}
	if r.Violation != "" {
		s += ": " + r.Violation + "\n  " + strings.Join(r.Trace, "\n  ")
	}
	return s
}

// Explore visits the states of m breadth first, up to limit of them, and stops
// at the first bad one. When all were visited it looks for states from which no
// done state can be reached: deadlocks, and loops without a way out.
func Explore[S comparable](m Model[S], limit int) Result {
	x := explorer[S]{m: m, index: map[S]int32{}}
	x.visit(m.Initial(), -1)
	for at := 0; at < len(x.states) && len(x.states) < limit; at++ {
		s := x.states[at]
		if why := m.Bad(s); why != "" {
			return x.result(why, at, false)
		}
		x.first = append(x.first, int32(len(x.succ)))
		m.Next(s, func(_ string, next S) { x.succ = append(x.succ, x.visit(next, int32(at))) })
	}
	if len(x.first) < len(x.states) {
		return x.result("", -1, false)
	}
	x.first = append(x.first, int32(len(x.succ)))
	if at := x.stuck(); at >= 0 {
		return x.result("nobody can finish from here", at, true)
	}
	return x.result("", -1, true)
}

type explorer[S comparable] struct {
	m      Model[S]
	index  map[S]int32
	states []S
	parent []int32
	first  []int32 // first[i]: where the successors of state i start in succ
	succ   []int32
}

// visit gives the number of s, a new one if it was never seen.
func (x *explorer[S]) visit(s S, parent int32) int32 {
	if i, ok := x.index[s]; ok {
		return i
	}
	i := int32(len(x.states))
	x.index[s] = i
	x.states = append(x.states, s)
	x.parent = append(x.parent, parent)
	return i
}

// stuck gives the first state from which no done state is reachable, or -1.
func (x *explorer[S]) stuck() int {
	n := len(x.states)
	start := make([]int32, n+1) // predecessors of i: pred[start[i]:start[i+1]]
	for _, t := range x.succ {
		start[t+1]++
	}
	for i := range n {
		start[i+1] += start[i]
	}
	pred := make([]int32, len(x.succ))
	fill := slices.Clone(start)
	for s := range n {
		for _, t := range x.succ[x.first[s]:x.first[s+1]] {
			pred[fill[t]] = int32(s)
			fill[t]++
		}
	}
	live := make([]bool, n)
	var todo []int32
	for i, s := range x.states {
		if x.m.Done(s) {
			live[i] = true
			todo = append(todo, int32(i))
		}
	}
	for len(todo) > 0 {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, s := range pred[start[t]:start[t+1]] {
			if !live[s] {
				live[s] = true
				todo = append(todo, s)
			}
		}
	}
	return slices.Index(live, false)
}

// result reports, with the steps that lead to state at if it is ≥ 0.
func (x *explorer[S]) result(why string, at int, complete bool) Result {
	r := Result{States: len(x.states), Transitions: len(x.succ), Complete: complete, Violation: why}
	if at < 0 {
		return r
	}
	for t := int32(at); x.parent[t] >= 0; t = x.parent[t] {
		label := ""
		x.m.Next(x.states[x.parent[t]], func(l string, next S) {
			if label == "" && next == x.states[t] {
				label = l
			}
		})
		r.Trace = append(r.Trace, label)
	}
	slices.Reverse(r.Trace)
	return r
}
