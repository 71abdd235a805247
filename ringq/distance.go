package ringq

import (
	"time"

	"cmpi/flush"
)

// Distance chooses how runs of lines are written in coherent memory. Storing to
// a line that the consumer's core has read takes the line over from it: a few ns
// where the two share a cache, 20 ns and more where they don't (another core
// complex, another socket). There it is faster to write past both caches with
// streaming stores, although the consumer then reads from memory (2 KiB between
// two core complexes: 1.0 instead of 1.6 µs, 16 KiB: 2.5 instead of 9.2 µs). Very
// long runs are better streamed in any case, since they would drive everything
// else out of the caches. Which of the two holds can't be read from the CPU's
// description inside a virtual machine, and a rank may be moved to another core,
// so the producer times a run now and then.
type Distance struct {
	near   *flush.View // ordinary stores
	stream *flush.View // streaming stores
	begun  time.Time   // of the run being timed; zero when none is
	runs   uint        // that might have been timed
	score  int         // far runs less near ones, between -surest and surest
}

const (
	// streamMin is the shortest run in bytes that is streamed: a shorter one
	// ends before the stores' latency matters.
	streamMin = 448
	// nearMax is the longest run in bytes that is ever written with ordinary
	// stores.
	nearMax = 4 << 10
	// surest bounds the score; from sure on, only one run in retime is timed.
	surest, sure = 6, 3
	retime       = 64
	// A run that takes longer than farFixed and farLine for each line is far.
	// Seen: 2-6 ns per line where a cache is shared, 20-60 ns where not. Reading
	// the clock twice and waiting for the stores takes about farFixed.
	farFixed = 60 * time.Nanosecond
	farLine  = 12 * time.Nanosecond
)

// Init prepares d for writes through v.
func (d *Distance) Init(v *flush.View) { d.near, d.stream = v, v.Streaming() }

// Start gives the view to write a run of n bytes with.
func (d *Distance) Start(n int) *flush.View {
	if n < streamMin || d.stream == d.near {
		return d.near
	}
	if n > nearMax {
		return d.stream
	}
	d.runs++
	if -sure < d.score && d.score < sure || d.runs%retime == 0 {
		d.begun = time.Now()
		return d.near
	}
	if d.score > 0 {
		return d.stream
	}
	return d.near
}

// Stop ends the run of so many lines that Start gave v for, once it is written.
func (d *Distance) Stop(v *flush.View, lines int) {
	if d.begun.IsZero() {
		return
	}
	v.FullFence()
	if time.Since(d.begun) > farFixed+time.Duration(lines)*farLine {
		d.score = min(d.score+1, surest)
	} else {
		d.score = max(d.score-1, -surest)
	}
	d.begun = time.Time{}
}

// Far is 0 when the consumer is known to be near, else 1.
func (d *Distance) Far() uint64 {
	if d.stream == d.near || d.score <= -sure {
		return 0
	}
	return 1
}
