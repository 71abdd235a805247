package program

import "math"

// Forever is a step after all others.
const Forever = math.MaxInt

// RecvCertain reports whether the receive or probe p is certain to find a
// message among those that are sent at step by or earlier. It looks for a set
// of messages that p matches and that is larger than the set of receives that
// could take one of them away.
func (f *Facts) RecvCertain(p Posted, by int) bool {
	var all []Sent
	for _, s := range f.Sends {
		if s.Step <= by && p.Matches(s) {
			all = append(all, s)
		}
	}
	if f.enough(p, all) {
		return true
	}
	// Fewer messages have fewer receives that take them: those of one envelope,
	// or the earliest.
	for i, s := range all {
		same := all[:0:0]
		for _, x := range all {
			if x.Source == s.Source && x.Tag == s.Tag {
				same = append(same, x)
			}
		}
		if f.enough(p, same) || f.enough(p, all[:i]) {
			return true
		}
	}
	return false
}

// Contested reports whether another thread may take a message that p could find
// by a probe: then a receive of what was found might wait for ever.
func (f *Facts) Contested(p Posted) bool {
	for _, q := range f.Posts {
		if q.Rank != p.Rank || q.Thread == p.Thread {
			continue
		}
		for _, s := range f.Sends {
			if p.Matches(s) && q.Matches(s) {
				return true
			}
		}
	}
	return false
}

// enough reports that there are more messages than receives, other than p,
// that could take one of them before p does.
func (f *Facts) enough(p Posted, messages []Sent) bool {
	left := len(messages)
	for _, q := range f.Posts {
		if left == 0 {
			return false
		}
		if q.Rank != p.Rank || q.Place == p.Place && q.Slot == p.Slot {
			continue
		}
		if q.Thread == p.Thread && q.Index > p.Index {
			continue // posted later, so p goes first
		}
		for _, s := range messages {
			if q.Matches(s) {
				left--
				break
			}
		}
	}
	return left > 0
}

// SendCertain reports whether message s is certain to be matched by receives
// that are posted at step by or earlier: it looks for a set of receives that
// match it and that is larger than the set of other messages that could take
// one of them. A matched probe counts from its Mrecv on: until then no sender
// has to be told. A receive that may find nothing doesn't count: the epilogue may
// have cancelled it when the message comes.
func (f *Facts) SendCertain(s Sent, by int) bool {
	for _, q := range f.Posts {
		if q.Begun > q.Step && q.Begun > by && q.Matches(s) {
			return false // matched, and left at that for now
		}
	}
	return f.sendCertain(s, func(q Posted) bool {
		return q.Begun <= by && (q.Slot < 0 || f.RecvCertain(q, Forever))
	})
}

func (f *Facts) sendCertain(s Sent, posted func(Posted) bool) bool {
	var all []Posted
	for _, q := range f.Posts {
		if !q.Conditional && !q.Cancelled && q.Matches(s) && posted(q) {
			all = append(all, q)
		}
	}
	if f.free(s, all) {
		return true
	}
	for _, q := range all {
		same := all[:0:0]
		for _, x := range all {
			if x.Source == q.Source && x.Tag == q.Tag {
				same = append(same, x)
			}
		}
		if f.free(s, same) {
			return true
		}
	}
	return false
}

// free reports that there are more receives than messages, other than s, that
// could take one of them before s does.
func (f *Facts) free(s Sent, receives []Posted) bool {
	left := len(receives)
	for _, x := range f.Sends {
		if left == 0 {
			return false
		}
		if x.Msg == s.Msg {
			continue
		}
		if x.Rank == s.Rank && x.Thread == s.Thread && x.Index > s.Index {
			continue // sent later, so s goes first
		}
		for _, q := range receives {
			if q.Matches(x) {
				left--
				break
			}
		}
	}
	return left > 0
}

// ReadyLegal reports whether a receive for s is certain to have been posted
// before s is sent, as a ready send wants it: by an earlier operation that a
// barrier separates from it, and that the epilogue will not cancel.
func (f *Facts) ReadyLegal(s Sent) bool {
	for _, b := range f.barriers {
		if s.Thread == 0 && b < s.Step && f.sendCertain(s, func(q Posted) bool {
			return q.Thread == 0 && q.Slot >= 0 && q.Step < b && f.RecvCertain(q, Forever)
		}) {
			return true
		}
	}
	return false
}
