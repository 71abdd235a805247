// Package simulate executes generated programs (package program) on a little MPI
// of its own, in one goroutine, with a random schedule. It is the judge's judge:
//
//   - a sound case never blocks here, whatever the schedule and however
//     reluctantly sends complete, or package program is wrong;
//   - what an intact MPI does is accepted by package model;
//   - what an MPI with one of the faults of faults.go does is not, sooner or later.
//
// Time is the number of steps taken.
package simulate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"cmpi/tests/random/model"
	"cmpi/tests/random/program"
)

// ErrBlocked means that no thread can go on and no message is on its way.
var ErrBlocked = errors.New("blocked")

// message is one that was sent.
type message struct {
	program.Sent
	matched bool
}

// receive is one that was posted, or a message taken by Mprobe.
type receive struct {
	program.Posted
	message   *message // nil while it isn't matched
	cancelled bool
}

// request is what a slot holds.
type request struct {
	send    *message
	recv    *receive
	barrier *int // how many ranks have come
	active  bool
	init    *program.Op // of a persistent one
}

// rank is one process.
type rank struct {
	number     int
	threads    []*thread
	slots      []request
	handles    []*receive
	posted     []*receive // in the order in which they were posted
	unexpected []*message // in the order in which they came
	received   [program.Comms]int
	records    []model.Record
}

// thread is one of a rank's threads, or its epilogue.
type thread struct {
	rank   *rank
	number int
	ops    []program.Op
	next   int

	// The operation under way.
	begun bool
	t0    int64
	tries int
	own   request
	left  int // Drain
	log   []model.Record
}

// world is a simulation.
type world struct {
	c        *program.Case
	f        *program.Facts
	rng      *rand.Rand
	fault    Fault
	eager    bool // standard sends complete at once
	clock    int64
	ranks    []*rank
	channels [][]*message // what is on its way, by sender and receiver
	barriers map[int]*int // by step
	err      error
}

// Run executes a case and gives what each rank has observed.
func Run(c *program.Case, seed uint64, fault Fault) ([][]model.Record, error) {
	w := &world{c: c, f: c.Facts(), rng: rand.New(rand.NewPCG(seed, 1)), fault: fault, barriers: map[int]*int{},
		channels: make([][]*message, c.Ranks*c.Ranks)}
	w.eager = w.rng.IntN(2) == 0
	for r := range c.Ranks {
		rk := &rank{number: r, slots: make([]request, c.Slots[r]), handles: make([]*receive, c.Handles[r])}
		for t, ops := range c.Threads[r] {
			rk.threads = append(rk.threads, &thread{rank: rk, number: t, ops: ops})
		}
		rk.threads = append(rk.threads, &thread{rank: rk, number: program.EpilogueThread, ops: c.Epilogue[r]})
		w.ranks = append(w.ranks, rk)
	}
	w.run()
	var observed [][]model.Record
	for _, r := range w.ranks {
		observed = append(observed, r.records)
	}
	return observed, w.err
}

// run takes steps of random actors until all threads are through.
func (w *world) run() {
	var actors []func() bool
	for _, r := range w.ranks {
		for _, t := range r.threads {
			actors = append(actors, func() bool { return w.advance(t) })
		}
	}
	for i := range w.channels {
		actors = append(actors, func() bool { return w.deliver(i) })
	}
	for idle := 0; w.err == nil && !w.through(); {
		w.clock++
		if actors[w.rng.IntN(len(actors))]() {
			idle = 0
			continue
		}
		if idle++; idle < 10*len(actors) {
			continue
		}
		if !slices.ContainsFunc(actors, func(act func() bool) bool { return act() }) {
			w.err = fmt.Errorf("%w: %s", ErrBlocked, w.where())
		}
	}
}

func (w *world) through() bool {
	for _, r := range w.ranks {
		for _, t := range r.threads {
			if t.next < len(t.ops) {
				return false
			}
		}
	}
	return true
}

// where says where the threads stand.
func (w *world) where() (s string) {
	for _, r := range w.ranks {
		for _, t := range r.threads {
			if t.next < len(t.ops) {
				s += fmt.Sprintf("\n  rank %d thread %d at %d: %s", r.number, t.number, t.next, w.c.Describe(&t.ops[t.next]))
			}
		}
	}
	return s
}

// deliver brings the next message of a channel to its rank.
func (w *world) deliver(channel int) bool {
	list := w.channels[channel]
	if len(list) == 0 {
		return false
	}
	i := 0
	if w.fault == Overtake {
		i = w.rng.IntN(len(list))
	}
	m := list[i]
	if !(w.fault == Duplicate && w.rng.IntN(4) == 0) {
		w.channels[channel] = slices.Delete(slices.Clone(list), i, i+1)
	}
	if w.fault == Lose && w.rng.IntN(8) == 0 {
		return true
	}
	r := w.ranks[m.Dest]
	if q := w.choosePosted(r, m); q != nil {
		r.posted = remove(r.posted, q)
		q.message, m.matched = m, true
		return true
	}
	if m.Mode == program.Ready && w.fault == None {
		w.err = fmt.Errorf("message %d is ready, but no receive is posted", m.Msg)
	}
	r.unexpected = append(r.unexpected, m)
	return true
}

// post posts a receive, or gives it the message that is there for it.
func (w *world) post(r *rank, p program.Posted) *receive {
	q := &receive{Posted: p}
	if m := w.chooseUnexpected(r, p); m != nil {
		r.unexpected = remove(r.unexpected, m)
		q.message, m.matched = m, true
	} else {
		r.posted = append(r.posted, q)
	}
	return q
}

func remove[T comparable](list []T, x T) []T {
	i := slices.Index(list, x)
	return slices.Delete(slices.Clone(list), i, i+1)
}

// begin starts what op begins under a request; init is op itself or what made
// the request persistent.
func (w *world) begin(t *thread, init *program.Op, msg int, q *request) {
	q.active, q.send, q.recv, q.barrier = true, nil, nil, nil
	r := t.rank
	place := program.Place{Rank: r.number, Thread: t.number, Index: t.next}
	if init.Kind.Sends() && init.Send.Peer != program.ProcNull {
		s, _ := w.f.Message(msg)
		q.send = &message{Sent: s}
		at := r.number*w.c.Ranks + s.Dest
		w.channels[at] = append(w.channels[at], q.send)
	}
	if init.Kind.Receives() {
		p := program.Posted{Place: place, Comm: init.Comm, Source: init.Recv.Peer, Tag: init.Recv.Tag, Cells: init.RecvCells()}
		if p.Source == program.ProcNull {
			q.recv = &receive{Posted: p, message: &message{Sent: program.Sent{Source: program.ProcNull, Tag: program.AnyTag}}}
		} else {
			q.recv = w.post(r, p)
		}
	}
	if init.Kind == program.Ibarrier || init.Kind == program.Barrier || init.Kind == program.MakeFresh {
		q.barrier = w.barriers[init.Step]
		if q.barrier == nil {
			q.barrier = new(int)
			w.barriers[init.Step] = q.barrier
		}
		*q.barrier++
	}
}

// done reports whether a request is complete.
func (w *world) done(q *request) bool {
	if s := q.send; s != nil && !s.matched {
		switch s.Mode {
		case program.Synchronous:
			if w.fault != EarlySsend {
				return false
			}
		case program.Standard, program.Ready:
			if !w.eager {
				return false
			}
		}
	}
	if q.recv != nil && q.recv.message == nil && !q.recv.cancelled {
		return false
	}
	return q.barrier == nil || *q.barrier == w.c.Ranks
}
