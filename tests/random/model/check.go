// Package model judges what MPI programs (package program) have observed: it
// knows MPI's rules of matching, nothing of any implementation.
//
// Check first replays what each rank has seen: every call succeeded, every
// message was received once, by a receive that accepts it, with the right
// status and data; nothing else was written. Then it asks whether there is a
// moment for each match such that all of MPI's rules of order hold
// (MPI-4.0 section 3.5). A match happened
//
//   - after the receive was posted and the send begun, and before either is
//     known to be complete (of sends only synchronous ones tell);
//   - after that of an earlier receive of the same thread that accepts the same
//     message (or after that receive was cancelled);
//   - after that of an earlier message of the same thread to the same rank that
//     the same receive accepts.
//
// Likewise for the moment at which a probe looked. These are lower and upper
// bounds and edges of a graph; the observation is legal if, and only if, the
// graph has no cycle and no lower bound that follows from it exceeds an upper
// one. Operations of different threads are logically concurrent: no edges.
package model

import (
	"fmt"
	"math"

	"cmpi/tests/random/program"
)

// Options says what the MPI under test may leave out.
type Options struct {
	// Host: MPICH 4.0 forgets the status of a receive from MPI_PROC_NULL, and
	// gives no data with a truncated message.
	Host bool
}

// Check gives what is wrong with an observation, by rank; nothing if it is
// legal.
func Check(c *program.Case, observed [][]Record, o Options) []string {
	k := &checker{c: c, f: c.Facts(), o: o, messages: map[int]*message{}}
	for _, s := range k.f.Sends {
		k.messages[s.Msg] = &message{Sent: s, begun: math.MinInt64, synced: math.MaxInt64}
	}
	for rank := range c.Ranks {
		k.replay(rank, observed[rank])
	}
	if len(k.problems) == 0 {
		k.complete()
	}
	if len(k.problems) == 0 {
		k.order()
	}
	return k.problems
}

// message is a message and what became of it.
type message struct {
	program.Sent
	begun, synced int64 // call of the send; end of the call that told of a synchronous send's completion
	taker         *taker
}

// taker is a receive, a matched probe, or a probe that only looks.
type taker struct {
	program.Posted
	sub       int // order of takers of one operation
	look      bool
	cancel    bool // MPI_Cancel was called
	cancelled bool
	message   *message // what it took or saw, nil while unknown

	posted, done int64 // call of the receive; end of the call that told of its completion
	cancelling   int64 // call of MPI_Cancel
	begun        int64 // of a matched probe: call of Mrecv

	bytes       int64 // a probe's status
	source, tag int32
	node        int
}

func (t *taker) accepts(m *message) bool { return t.Matches(m.Sent) }

// before reports that t was posted before u, by MPI's rules.
func (t *taker) before(u *taker) bool {
	return t.Before(u.Place) || t.Place == u.Place && t.sub < u.sub
}

type checker struct {
	c        *program.Case
	f        *program.Facts
	o        Options
	messages map[int]*message
	takers   []*taker
	problems []string
}

func (k *checker) problem(p program.Place, format string, args ...any) {
	k.problems = append(k.problems, k.at(p)+": "+fmt.Sprintf(format, args...))
}

// at names an operation.
func (k *checker) at(p program.Place) string {
	thread := ""
	switch {
	case p.Thread == program.EpilogueThread:
		thread = " at the end"
	case len(k.c.Threads[p.Rank]) > 1:
		thread = fmt.Sprintf(" thread %d", p.Thread)
	}
	return fmt.Sprintf("rank %d%s, %d: %s", p.Rank, thread, p.Index, k.c.Describe(k.c.Op(p)))
}

// complete checks that every message was received.
func (k *checker) complete() {
	for _, s := range k.f.Sends {
		if m := k.messages[s.Msg]; m.taker == nil {
			k.problem(s.Place, "message %d was never received", s.Msg)
		} else if m.synced < m.taker.begun {
			k.problem(s.Place, "message %d is synchronous and was complete %.1f µs before its receive began: %s", s.Msg,
				float64(m.taker.begun-m.synced)/1000, k.at(m.taker.Place))
		}
	}
}

// received takes the outcome of a receive. Where the message isn't known, its
// envelope tells.
func (k *checker) received(t *taker, r Record) {
	t.done = r.T1
	bad := func(format string, args ...any) { k.problem(t.Place, format, args...) }
	if r.Flags&FlagDirty != 0 {
		bad("memory beside the message was written")
	}
	if r.Flags&FlagElements != 0 {
		bad("MPI_Get_elements contradicts MPI_Get_count, which says %d bytes", r.Bytes)
	}
	if r.Flags&FlagCancelled != 0 {
		if t.cancelled = true; !t.cancel {
			bad("cancelled, though nobody asked for that")
		}
		if r.Class != ClassOK {
			bad("cancelled with error class %d", r.Class)
		}
		return
	}
	if t.Source == program.ProcNull {
		if !k.o.Host && (r.Source != program.ProcNull || r.Tag != program.AnyTag || r.Bytes != 0 || r.Class != ClassOK) {
			bad("status of MPI_PROC_NULL is source %d, tag %d, %d bytes, class %d", r.Source, r.Tag, r.Bytes, r.Class)
		}
		return
	}
	m := k.identify(t, r)
	if m == nil {
		return
	}
	size := int64(m.Cells * k.c.Cell.Size())
	room := int64(t.Cells * k.c.Cell.Size())
	switch {
	case !t.accepts(m):
		bad("got message %d (source %d, tag %d, %v, to rank %d), which it doesn't accept", m.Msg, m.Source, m.Tag, m.Comm, m.Dest)
	case m.taker != nil:
		bad("got message %d, which was received before: %s", m.Msg, k.at(m.taker.Place))
	case int(r.Source) != m.Source || int(r.Tag) != m.Tag:
		bad("got message %d with source %d and tag %d in the status, not %d and %d", m.Msg, r.Source, r.Tag, m.Source, m.Tag)
	case size > room && r.Class != ClassTruncate:
		bad("got message %d of %d bytes in a buffer of %d: error class %d, not truncation", m.Msg, size, room, r.Class)
	case size <= room && r.Class != ClassOK:
		bad("got message %d of %d bytes in a buffer of %d: error class %d", m.Msg, size, room, r.Class)
	case size <= room && r.Bytes != size:
		bad("got message %d of %d bytes, the status says %d", m.Msg, size, r.Bytes)
	case r.Bad >= 0 && r.Class == ClassOK:
		bad("got message %d of %d bytes, of which byte %d is wrong", m.Msg, size, r.Bad)
	}
	if m.taker == nil {
		m.taker, t.message = t, m
	}
}

// identify finds the message that a receive got.
func (k *checker) identify(t *taker, r Record) *message {
	if r.Class == ClassOK && r.Bytes > 0 || r.Class == ClassTruncate && r.Msg >= 0 && r.Bad < 0 {
		if m := k.messages[int(r.Msg)]; m != nil {
			return m
		}
		k.problem(t.Place, "got data of a message %d that there isn't (source %d, tag %d, %d bytes, class %d)", r.Msg, r.Source, r.Tag, r.Bytes, r.Class)
		return nil
	}
	for _, s := range k.f.Sends {
		m := k.messages[s.Msg]
		if m.taker != nil || s.Comm != t.Comm || s.Dest != t.Rank || s.Source != int(r.Source) || s.Tag != int(r.Tag) {
			continue
		}
		if r.Class == ClassTruncate && s.Cells > t.Cells || r.Class == ClassOK && s.Cells == 0 {
			return m
		}
	}
	k.problem(t.Place, "source %d, tag %d, %d bytes, class %d: no such message is left", r.Source, r.Tag, r.Bytes, r.Class)
	return nil
}
