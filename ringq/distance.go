package ringq

import (
	"time"

	"cmpi/flush"
)

// Distance finds out whether the consumer's cache is near or far in coherent
// memory, and with that how runs of lines are written. Storing to a line that
// the consumer's core has read takes the line over from it: a few ns where the
// two share a cache, 30 ns and more where they don't (another core complex,
// another socket). There it is faster to write past both caches with streaming
// stores, although the consumer then reads from memory (a message of 4 KiB
// between two core complexes: 1.0 instead of 2.8 µs). Which of the two holds
// can't be read from the CPU's description inside a virtual machine, so the
// producer times its first runs.
type Distance struct {
	near   *flush.View // ordinary stores
	stream *flush.View // streaming stores
	use    *flush.View // for runs of at least farLines
	first  uint64      // position from which lines have been read before
	begun  time.Time   // of the run being timed; zero when none is
	votes  int         // runs timed
	far    int         // of which were slow
}

const (
	// farLines is the shortest run that is streamed; a shorter one ends before
	// the stores' latency matters.
	farLines = 4
	// timedLines is the shortest run that is timed: beside it the two clock
	// readings (about 50 ns each) don't count.
	timedLines = 16
	// farVotes is how many runs are timed. The majority decides, so that an
	// interrupt doesn't.
	farVotes = 15
	// farTime per line separates a shared cache (2-6 ns seen) from a foreign
	// one (25-60 ns seen).
	farTime = 15 * time.Nanosecond
)

// Init prepares d for writes through v. The first writes, of so many lines, are
// not timed: the reader hasn't read those lines yet, or their pages are new.
func (d *Distance) Init(v *flush.View, first uint64) {
	d.near, d.stream, d.use = v, v.Streaming(), v
	d.first = first
	if d.stream == v {
		d.votes = farVotes // nothing to choose
	}
}

// Start gives the view to write a run of n bytes with, the first of which is
// number pos of all lines written.
func (d *Distance) Start(pos uint64, n int) *flush.View {
	if n < farLines*flush.LinePayload {
		return d.near
	}
	if d.votes < farVotes && pos >= d.first && n >= timedLines*flush.LinePayload {
		d.begun = time.Now()
	}
	return d.use
}

// Stop ends the run that Start began; it gives 1 when long runs are streamed
// from now on, else 0.
func (d *Distance) Stop(lines int) uint64 {
	if !d.begun.IsZero() {
		if time.Since(d.begun) > time.Duration(lines)*farTime {
			d.far++
		}
		d.begun = time.Time{}
		if d.votes++; d.votes == farVotes && d.far > farVotes/2 {
			d.use = d.stream
		}
	}
	if d.use == d.near {
		return 0
	}
	return 1
}
