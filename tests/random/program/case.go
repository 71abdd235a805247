package program

import "slices"

// Mode is a send mode (MPI-4.0 section 3.4).
type Mode int

// The send modes.
const (
	Standard Mode = iota
	Synchronous
	Buffered
	Ready
	Modes = iota
)

// Half is the sending or the receiving half of an operation, or the pattern of
// a probe.
type Half struct {
	Peer   int // rank in the communicator, ProcNull, or AnySource
	Tag    int // or AnyTag
	Layout Layout
}

// Op is one operation. Which fields mean something depends on its Kind.
type Op struct {
	Kind   Kind
	Step   int // place in the order of all operations of the case
	Comm   Comm
	Mode   Mode
	Send   Half
	Msg    int // number of the message sent; -1 for none (to ProcNull)
	Recv   Half
	Slots  []int // request slots
	Msgs   []int // Start: numbers of the messages sent, -1 for receives
	Handle int   // slot of a matched message
	Until  bool  // test or wait again until every request is complete
	Tries  int   // how often Iprobe and Improbe look
	Micros int   // Sleep
	Count  int   // Drain: messages that were sent to this rank
	Flags  Flags
}

// Flags are variations that change nothing of what an operation means.
type Flags int

// The variations.
const (
	LargeCount Flags = 1 << iota // the function's _c twin
	Bottom                       // absolute addresses and MPI_BOTTOM
	FreeType                     // the datatype is freed as soon as the operation has begun
	AllFlags   = 1<<iota - 1
)

// Case is one generated program.
type Case struct {
	Number   int    // in the run that it was generated for
	Key      uint64 // of its payloads
	Ranks    int
	Cell     Cell
	Threads  [][][]Op // operations by rank and thread
	Epilogue [][]Op   // what the first thread of each rank does when all are through

	// What the executor must prepare, by rank. Finish sets it.
	Slots, Handles []int // how many
	Attach         []int // bytes of buffer for buffered sends
}

// Clone is a deep copy.
func (c *Case) Clone() *Case {
	d := *c
	d.Cell = slices.Clone(c.Cell)
	d.Threads = make([][][]Op, len(c.Threads))
	for r, threads := range c.Threads {
		d.Threads[r] = make([][]Op, len(threads))
		for t, ops := range threads {
			d.Threads[r][t] = cloneOps(ops)
		}
	}
	d.Epilogue = make([][]Op, len(c.Epilogue))
	for r, ops := range c.Epilogue {
		d.Epilogue[r] = cloneOps(ops)
	}
	d.Slots, d.Handles, d.Attach = slices.Clone(c.Slots), slices.Clone(c.Handles), slices.Clone(c.Attach)
	return &d
}

// cloneOps copies operations; datatypes are never changed and stay shared.
func cloneOps(ops []Op) []Op {
	d := slices.Clone(ops)
	for i := range d {
		d[i].Slots, d[i].Msgs = slices.Clone(d[i].Slots), slices.Clone(d[i].Msgs)
	}
	return d
}

// Len is the number of operations outside the epilogues.
func (c *Case) Len() (n int) {
	for _, threads := range c.Threads {
		for _, ops := range threads {
			n += len(ops)
		}
	}
	return n
}

// Place is where an operation stands: number Index in the list of a thread.
type Place struct{ Rank, Thread, Index int }

// EpilogueThread is the Thread of operations in the epilogue.
const EpilogueThread = -1

// Before reports whether a is executed before b, as MPI's rules of order want
// it: by the same thread, or by a thread that has ended when b's epilogue
// begins. Operations of two threads are logically concurrent.
func (a Place) Before(b Place) bool {
	if a.Rank != b.Rank {
		return false
	}
	if a.Thread == b.Thread {
		return a.Index < b.Index
	}
	return b.Thread == EpilogueThread
}

// Op is the operation at a place.
func (c *Case) Op(p Place) *Op {
	if p.Thread == EpilogueThread {
		return &c.Epilogue[p.Rank][p.Index]
	}
	return &c.Threads[p.Rank][p.Thread][p.Index]
}
