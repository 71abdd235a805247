package modelcheck

import (
	"fmt"
	"testing"
)

// limit stops a model that grew by mistake before it eats the machine.
const limit = 4_000_000

// raceDetector: the explorer has one goroutine, there is nothing to find, and it
// takes 30 times as long; so the large models are left out.
var raceDetector bool

func TestClaim(t *testing.T) {
	for hosts := 2; hosts <= 3; hosts++ {
		r := Explore(Claim{Hosts: hosts}, limit)
		t.Logf("%d hosts: %v", hosts, r)
		if r.Violation != "" || !r.Complete {
			t.Errorf("%d hosts: %v", hosts, r)
		}
	}
}

func TestBrokenClaimIsCaught(t *testing.T) {
	for name, f := range map[string]ClaimFault{
		"X not invalidated":  ClaimNoInvalidateX,
		"X not written back": ClaimNoWriteBackX,
		"Y not written back": ClaimNoWriteBackY,
		"no second look":     ClaimNoSecondLook,
	} {
		t.Run(name, func(t *testing.T) {
			r := Explore(Claim{Hosts: 2, Broken: f}, limit)
			t.Log(r)
			if r.Violation == "" {
				t.Error("not caught")
			}
		})
	}
}

// TestLock: with Rounds 1…3 every interleaving is visited to its end, tickets
// never get near 7; with Endless rounds the tickets are bounded.
func TestLock(t *testing.T) {
	for _, l := range []Lock{
		{Hosts: 2, Joined: 0b11, Rounds: 3, Tickets: 7},
		{Hosts: 2, Joined: 0b11, Rounds: Endless, Tickets: 7},
		{Hosts: 2, Joined: 0b01, Rounds: 2, Tickets: 7},
		{Hosts: 2, Joined: 0b10, Rounds: 2, Tickets: 7},
		{Hosts: 2, Joined: 0b00, Rounds: 2, Tickets: 7},
		{Hosts: 2, Joined: 0b11, Rounds: 2, Tickets: 7, Crashes: 1},
		{Hosts: 2, Joined: 0b10, Rounds: 1, Tickets: 7, Crashes: 2},
		{Hosts: 3, Joined: 0b111, Rounds: 1, Tickets: 7},
		{Hosts: 3, Joined: 0b110, Rounds: 1, Tickets: 7},
	} {
		t.Run(fmt.Sprintf("%+v", l), func(t *testing.T) {
			if raceDetector && (l.Hosts > 2 || l.Crashes > 0) {
				t.Skip("large model, race detector")
			}
			r := Explore(l, limit)
			t.Log(r)
			if r.Violation != "" || !r.Complete {
				t.Errorf("%v", r)
			}
		})
	}
}

func TestBrokenLockIsCaught(t *testing.T) {
	two := Lock{Hosts: 2, Joined: 0b11, Rounds: 2, Tickets: 7}
	newcomer := Lock{Hosts: 2, Joined: 0b10, Rounds: 2, Tickets: 7}
	dying := Lock{Hosts: 2, Joined: 0b11, Rounds: 2, Tickets: 7, Crashes: 1}
	joinAndDie := Lock{Hosts: 2, Joined: 0b10, Rounds: 2, Tickets: 7, Crashes: 1}
	for _, c := range []struct {
		name string
		lock Lock
		f    LockFault
	}{
		{"no choosing", two, LockNoChoosing},
		{"tickets not invalidated", two, LockNoInvalidateTickets},
		{"ticket not written back", two, LockNoWriteBackTicket},
		{"claims not looked at again", newcomer, LockNoRecheckOfClaims},
		{"data not invalidated", two, LockNoInvalidateData},
		{"data not written back", two, LockNoWriteBackData},
		{"heir takes any ticket for holding", joinAndDie, LockInheritsAnyTicket},
		{"heir does not flush", dying, LockNoFlushByHeir},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.lock.Broken = c.f
			r := Explore(c.lock, limit)
			t.Log(r)
			if r.Violation == "" {
				t.Error("not caught")
			}
		})
	}
}
