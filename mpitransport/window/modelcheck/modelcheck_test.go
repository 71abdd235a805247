package modelcheck

import (
	"fmt"
	"os"
	"testing"

	"cmpi/arena/modelcheck"
)

// limit stops a model that grew by mistake before it eats the machine.
const limit = 3_000_000

// raceDetector: the explorer has one goroutine, there is nothing to find, and it
// takes 30 times as long; so the large models are left out.
var raceDetector bool

func TestLock(t *testing.T) {
	for _, c := range []struct {
		lock  Lock
		large bool
	}{
		{Lock{Domains: 2, Writers: 0b11, Rounds: 3}, false},
		{Lock{Domains: 2, Writers: 0b11, Rounds: Endless}, false},
		{Lock{Domains: 2, Writers: 0b01, Readers: 0b10, Rounds: 2}, false},
		{Lock{Domains: 2, Writers: 0b01, Readers: 0b01, Rounds: 2}, false},
		{Lock{Domains: 2, Writers: 0b11, Readers: 0b01, Rounds: 1}, true},
		{Lock{Domains: 2, Writers: 0b01, Readers: 0b11, Rounds: 1}, true},
		{Lock{Domains: 3, Writers: 0b111, Rounds: 1}, true},
		{Lock{Domains: 3, Writers: 0b011, Readers: 0b100, Rounds: 1}, true},
	} {
		if c.lock.Domains == 3 && c.lock.Readers != 0 && os.Getenv("CMPI_MODELCHECK_LONG") == "" {
			continue // half a minute
		}
		t.Run(fmt.Sprintf("%+v", c.lock), func(t *testing.T) {
			if raceDetector && (c.large || c.lock.Readers != 0) {
				t.Skip("large model, race detector")
			}
			r := modelcheck.Explore(c.lock, limit)
			t.Log(r)
			if r.Violation != "" || !r.Complete {
				t.Errorf("%v", r)
			}
		})
	}
}

func TestBrokenLockIsCaught(t *testing.T) {
	writers := Lock{Domains: 2, Writers: 0b11, Rounds: 2}
	mixed := Lock{Domains: 2, Writers: 0b01, Readers: 0b10, Rounds: 2}
	local := Lock{Domains: 2, Writers: 0b01, Readers: 0b01, Rounds: 2}
	queue := Lock{Domains: 2, Writers: 0b11, Readers: 0b01, Rounds: 1}
	for _, c := range []struct {
		name string
		lock Lock
		f    Fault
	}{
		{"choosing not written back", writers, NoWriteBackOfChoosing},
		{"lines not dropped", writers, NoInvalidate},
		{"choosing not waited for", writers, NoWaitForChoosing},
		{"always alone", writers, AlwaysAlone},
		{"alone in spite of tickets", writers, AloneDespiteTickets},
		{"data not written back", writers, NoWriteBackOfData},
		{"count not written back", mixed, NoWriteBackOfCount},
		{"reader looks before it counts", mixed, LookBeforeCounting},
		{"reader doesn't look in its own domain", local, NoLocalLook},
		{"writer ignores readers", mixed, WriterIgnoresReaders},
		{"no second look at readers", queue, NoSecondLookAtReaders},
	} {
		t.Run(c.name, func(t *testing.T) {
			if raceDetector && c.lock == queue {
				t.Skip("large model, race detector")
			}
			c.lock.Broken = c.f
			r := modelcheck.Explore(c.lock, limit)
			t.Log(r)
			if r.Violation == "" {
				t.Error("not caught")
			}
		})
	}
}
