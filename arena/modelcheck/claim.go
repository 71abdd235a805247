package modelcheck

import "fmt"

// Claim is the splitter: several hosts try to win one entry of the host table.
// At most one may; that all may lose is part of the deal.
type Claim struct {
	Hosts  int
	Broken ClaimFault
}

// ClaimFault is a step that a variant leaves out.
type ClaimFault uint8

// The variants of Claim.
const (
	ClaimSound ClaimFault = iota
	ClaimNoInvalidateX
	ClaimNoWriteBackX
	ClaimNoWriteBackY
	ClaimNoSecondLook
)

// ClaimState is a state of Claim.
type ClaimState struct {
	mem Memory
	pc  [MaxHosts]uint8
}

const (
	claimX = iota
	claimY
)

// Steps of a claimer: X = me; if Y then lose; Y = 1; win if X is still me.
const (
	csStoreX = iota
	csFlushX
	csInvalidateY
	csLoadY
	csStoreY
	csFlushY
	csInvalidateX
	csLoadX
	csWon
	csLost
)

func (c Claim) peeked() uint8 {
	if c.Broken == ClaimNoInvalidateX {
		return 1 << claimX
	}
	return 0
}

// Initial: X and Y are zero.
func (c Claim) Initial() (s ClaimState) {
	s.mem.Cached(c.Hosts, c.peeked())
	return s
}

// Next lets each claimer take a step, and each dirty line be evicted.
func (c Claim) Next(s ClaimState, emit func(string, ClaimState)) {
	for h := range c.Hosts {
		c.step(s, h, emit)
		for line, name := range []string{"X", "Y"} {
			if s.mem.dirty[h][line] != 0 {
				t := s
				t.mem.Flush(h, line)
				emit(fmt.Sprintf("host %d: cache evicts %s", h, name), t)
			}
		}
	}
}

func (c Claim) step(s ClaimState, h int, emit func(string, ClaimState)) {
	me := uint8(h + 1)
	say := func(what string, pc uint8, mem Memory) {
		s.mem, s.pc[h] = mem, pc
		emit(fmt.Sprintf("host %d: %s", h, what), s)
	}
	m := s.mem
	switch s.pc[h] {
	case csStoreX:
		m.Store(h, claimX, me)
		say("X = me", csFlushX, m)
	case csFlushX:
		if c.Broken != ClaimNoWriteBackX {
			m.Flush(h, claimX)
		}
		say("write back X", csInvalidateY, m)
	case csInvalidateY:
		m.Invalidate(h, claimY)
		say("invalidate Y", csLoadY, m)
	case csLoadY:
		m.Load(h, claimY, c.peeked(), func(v uint8, after Memory) {
			if v != 0 {
				say("Y is set", csLost, after)
			} else {
				say("Y is not set", csStoreY, after)
			}
		})
	case csStoreY:
		m.Store(h, claimY, 1)
		say("set Y", csFlushY, m)
	case csFlushY:
		if c.Broken != ClaimNoWriteBackY {
			m.Flush(h, claimY)
		}
		switch c.Broken {
		case ClaimNoInvalidateX:
			say("write back Y", csLoadX, m)
		case ClaimNoSecondLook:
			say("write back Y, take it", csWon, m)
		default:
			say("write back Y", csInvalidateX, m)
		}
	case csInvalidateX:
		m.Invalidate(h, claimX)
		say("invalidate X", csLoadX, m)
	case csLoadX:
		m.Load(h, claimX, c.peeked(), func(v uint8, after Memory) {
			if v == me {
				say("X is me: won", csWon, after)
			} else {
				say("X is another", csLost, after)
			}
		})
	}
}

// Bad: two winners.
func (c Claim) Bad(s ClaimState) string {
	winners := 0
	for h := range c.Hosts {
		if s.pc[h] == csWon {
			winners++
		}
	}
	if winners > 1 {
		return fmt.Sprintf("%d hosts own the entry", winners)
	}
	return ""
}

// Done: everyone won or lost.
func (c Claim) Done(s ClaimState) bool {
	for h := range c.Hosts {
		if s.pc[h] < csWon {
			return false
		}
	}
	return true
}
