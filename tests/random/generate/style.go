package generate

import (
	"math/rand/v2"

	"cmpi/tests/random/program"
)

// Params are what a run fixes for all of its cases.
type Params struct {
	Ranks, Threads int
	// Limits are message lengths in bytes at which the library changes its way;
	// many messages are about that long.
	Limits []int
	// MaxBytes bounds the data that one case sends.
	MaxBytes int
	// Host avoids what MPICH 4.0 alone gets wrong, so that it can judge the
	// judge (the reasons stand where it is used).
	Host bool
}

// style is what the operations of one case have in common. Drawn anew for each,
// so that some cases have nothing but wildcards, others nothing but one pair.
type style struct {
	comms    []program.Comm
	tags     []int
	paired   bool // thread n talks to thread n only, by tags of its own
	hot      int  // percent of messages between one pair of ranks
	size     sizes
	spread   float64 // how far units of the case run into each other
	leaveOut int     // percent of messages without receive, and of receives without message

	// Percentages.
	anySource, anyTag    int
	early                int // receive before its send
	fused                int // send and receive at one step
	cycles, nulls, sleep int
	collective           int
	block                int // operations that wait at once
	persistent           int
	probe, match         int // receives by Probe and by Mprobe
	cancel, free         int
	leave                int // requests left to the epilogue
	poll                 int // tests beside the waits
	derived              int // derived datatypes
	truncate             int
	flags                int
}

// sizes is a way to choose the length of messages.
type sizes int

const (
	tiny  sizes = iota // one line of a ring
	small              // up to the longest message of the fast path
	edges              // about the limits
	medium
	large
	sizeKinds = iota
)

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

func newStyle(r *rand.Rand, p Params) style {
	s := style{
		paired:     chance(r, 60),
		hot:        pick(r, 0, 50, 90),
		size:       pick(r, tiny, small, edges, edges, medium, large),
		spread:     pick(r, 0.5, 2, 6, 20),
		leaveOut:   pick(r, 0, 0, 5, 20),
		anySource:  pick(r, 0, 0, 20, 50, 100),
		anyTag:     pick(r, 0, 0, 20, 50, 100),
		early:      pick(r, 10, 50, 90),
		fused:      pick(r, 0, 20, 60),
		cycles:     pick(r, 0, 5, 20),
		nulls:      pick(r, 0, 0, 5),
		sleep:      pick(r, 0, 0, 5, 20),
		collective: pick(r, 0, 0, 5, 10),
		block:      pick(r, 10, 50, 90),
		persistent: pick(r, 0, 0, 20, 60),
		probe:      pick(r, 0, 0, 10, 40),
		match:      pick(r, 0, 0, 10, 40),
		cancel:     pick(r, 0, 0, 10, 30),
		free:       pick(r, 0, 0, 10),
		leave:      pick(r, 0, 10, 50),
		poll:       pick(r, 0, 10, 40),
		derived:    pick(r, 0, 20, 50, 90),
		truncate:   pick(r, 0, 0, 0, 10),
		flags:      pick(r, 0, 10, 30),
	}
	if p.Threads > 1 && s.paired {
		s.anyTag = 0 // a thread would take another one's message
	}
	for len(s.comms) == 0 || chance(r, 30) && len(s.comms) < 3 {
		s.comms = append(s.comms, pick(r, program.World, program.World, program.Copy, program.Reversed, program.Parity,
			program.Inter, program.Fresh))
	}
	// 32767 is the largest tag that every MPI has.
	for len(s.tags) == 0 || chance(r, 60) && len(s.tags) < 4 {
		s.tags = append(s.tags, pick(r, 0, 1, 2, 7, 100, 32767))
	}
	return s
}

// newCell draws the unit of the case's messages.
func newCell(r *rand.Rand) program.Cell {
	basic := func() program.Basic { return program.Basic(r.IntN(program.Basics)) }
	if chance(r, 70) {
		return program.Cell{pick(r, program.Byte, program.Byte, program.Int, program.Double, basic())}
	}
	c := program.Cell{basic()}
	for len(c) < 2 || chance(r, 40) && len(c) < 4 {
		c = append(c, basic())
	}
	return c
}
