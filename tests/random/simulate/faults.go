package simulate

import (
	"cmpi/tests/random/model"
	"cmpi/tests/random/program"
)

// Fault is a mistake that an MPI could make.
type Fault int

// The faults.
const (
	None          Fault = iota
	MatchNewest         // a message goes to the receive that was posted last
	WildcardFirst       // receives from any source go before the others
	TakeNewest          // a receive takes the message that came last
	Overtake            // messages between two ranks lose their order
	IgnoreTag           // tags don't matter
	IgnoreComm          // communicators don't matter
	Duplicate           // a message comes twice
	Lose                // a message doesn't come
	EarlySsend          // a synchronous send doesn't wait for its receive
	CancelEats          // a receive that was matched is cancelled all the same
	ProbeNewest         // a probe sees the message that came last
	MprobeKeeps         // a matched message can be received by others
	NoTruncation        // a message that is too long is no error
	WrongCount          // the status has another length
	WrongSource         // another source
	WrongTag            // another tag
	Corrupt             // data bytes differ
	Spill               // more is written than was sent
	Faults        = iota
)

var faultNames = [Faults]string{"none", "match newest", "wildcard first", "take newest", "overtake", "ignore tag", "ignore communicator",
	"duplicate", "lose", "early ssend", "cancel eats", "probe newest", "mprobe keeps", "no truncation", "wrong count", "wrong source",
	"wrong tag", "corrupt", "spill"}

func (f Fault) String() string { return faultNames[f] }

// matches is MPI's rule, or a faulty one.
func (w *world) matches(p program.Posted, m *message) bool {
	switch w.fault {
	case IgnoreTag:
		p.Tag = program.AnyTag
	case IgnoreComm:
		p.Comm = m.Comm
	}
	return p.Matches(m.Sent)
}

// choosePosted finds the receive for a message that has come.
func (w *world) choosePosted(r *rank, m *message) (found *receive) {
	for _, q := range r.posted {
		if !w.matches(q.Posted, m) {
			continue
		}
		switch {
		case found == nil, w.fault == MatchNewest:
			found = q
		case w.fault == WildcardFirst && found.Source != program.AnySource && q.Source == program.AnySource:
			found = q
		}
	}
	return found
}

// chooseUnexpected finds the message for a receive that is posted.
func (w *world) chooseUnexpected(r *rank, p program.Posted) (found *message) {
	for _, m := range r.unexpected {
		if w.matches(p, m) && (found == nil || w.fault == TakeNewest) {
			found = m
		}
	}
	return found
}

// chooseProbed finds the message that a probe sees.
func (w *world) chooseProbed(r *rank, p program.Posted) (found *message) {
	for _, m := range r.unexpected {
		if w.matches(p, m) && (found == nil || w.fault == ProbeNewest) {
			found = m
		}
	}
	return found
}

// spoil makes a mistake in what a receive tells.
func (w *world) spoil(x *model.Record) {
	if w.rng.IntN(3) > 0 {
		return
	}
	switch w.fault {
	case WrongCount:
		x.Bytes++
	case WrongSource:
		x.Source++
	case WrongTag:
		x.Tag++
	case Corrupt:
		if x.Bytes > 1 {
			x.Bad = 1
		}
	case Spill:
		x.Flags |= model.FlagDirty
	}
}
