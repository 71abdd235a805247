// Package remains tells what is left of jobs that have ended, by themselves or
// not: their processes, and what they own in a pool. Programs that kill jobs use
// it to see that nothing is left, and that nobody else has lost anything.
package remains

import (
	"errors"
	"fmt"
	"time"

	"cmpi/arena"
	"cmpi/flush"
	"cmpi/mpitransport"
)

// nap is the time between two looks at something that is about to end.
const nap = 10 * time.Millisecond

// Clear frees what the dead of the named hosts have left in the pool, and fails
// unless the pool is sound before and after, and soon holds nothing but what
// stays approves of. A host is named as by CMPI_HOST; "" is this kernel. Jobs may
// run meanwhile. No process that may have been killed is alive any more.
func Clear(pool string, hosts []string, stays func(arena.Info) bool, limit time.Duration) error {
	var open []*arena.Arena
	for _, host := range hosts {
		a, err := arena.Open(arena.Config{Path: pool, Mode: flush.Flush, HostID: arena.KernelID(host)})
		if err != nil {
			return err
		}
		defer a.Close()
		open = append(open, a)
	}
	if err := heal(open); err != nil {
		return err
	}
	left, err := collect(open, stays, limit)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%d objects are left %v after their job: %+v", len(left), limit, left)
	}
	report, err := open[0].Check()
	if err != nil {
		return err
	}
	if len(report.Findings) > 0 {
		return fmt.Errorf("the pool is not sound after the collection: %+v", report.Findings)
	}
	return nil
}

// heal looks at the pool as it was left, and ends what processes of the hosts
// began before they died.
func heal(open []*arena.Arena) error {
	report, err := open[0].Inspect()
	if err != nil {
		return err
	}
	for _, f := range report.Findings {
		// A dead process may have died inside a change, which whoever comes next
		// ends; nothing else may be wrong. What is found while others change the pool
		// says nothing; Check comes later.
		if f.Part != arena.PartJournal && !report.Changing {
			return fmt.Errorf("the pool is not sound: %s: %s", f.Part, f.Text)
		}
	}
	// All hosts at one time, as each has processes of its own that do it: one with a
	// process that waits for the pool lock waits here, too, until the host of the dead
	// holder has been healed.
	healed := make(chan error)
	for _, a := range open {
		go func() { healed <- a.Heal() }()
	}
	for range open {
		err = errors.Join(err, <-healed)
	}
	return err
}

// collect frees garbage until only what stays is there, and gives what else is
// left at the limit: a process that dies loses its memory a little before the
// kernel says that it is dead.
func collect(open []*arena.Arena, stays func(arena.Info) bool, limit time.Duration) (left []arena.Info, err error) {
	for end := time.Now().Add(limit); ; time.Sleep(nap) {
		for _, a := range open {
			if _, _, err := mpitransport.Collect(a, true); err != nil {
				return nil, err
			}
		}
		objects, err := open[0].List()
		if err != nil {
			return nil, err
		}
		left = left[:0]
		for _, o := range objects {
			if !stays(o) {
				left = append(left, o)
			}
		}
		if len(left) == 0 || time.Now().After(end) {
			return left, nil
		}
	}
}
