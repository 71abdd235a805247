// Package generate draws random programs (package program) that are sound: legal
// MPI, without deadlock whatever matches what, and such that a judge can tell
// from the data which message each receive got.
//
// A case grows in phases. First units are drawn: messages with their receives,
// cycles of Sendrecv, collective operations, each at a random place of the order
// of steps (units.go). Then the receives get their form, since probes may take
// messages away from others; then the sends; then whatever doesn't block gets
// its wait, as early as it is certain to end or later (complete.go). Every
// phase asks package program what is certain; Case.Weaken mends what a later
// phase has broken.
package generate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"cmpi/tests/random/program"
)

// stepSize is how far apart the steps of units are; between them is room for
// what is inserted later.
const stepSize = 1000

// item is an operation on its way into the case.
type item struct {
	rank, thread int
	key          float64 // place in the order, before there are steps
	op           program.Op
	wish         wish
	root         *item // the item whose persistent request this one may use again; nil for others

	index    int // in the thread's list when it was built last, -1 if it wasn't in there
	from     int // step at which the request becomes active
	done     int // step at which it is certainly complete, if sure
	sure     bool
	complete bool // its request still needs a wait
}

// wish is what was drawn for an operation, if the rules permit it.
type wish struct {
	block, persistent, cancel, free bool
	probe, match                    bool
}

type generator struct {
	rng    *rand.Rand
	p      Params
	c      *program.Case
	style  style
	budget int // bytes that the case may still send
	msgs   int

	items  []*item
	steps  []int           // of the units, ascending
	used   map[[3]int]int  // steps inserted, by rank, thread and base
	slots  []int           // next request slot by rank
	mslots []int           // next slot for matched messages by rank
	empty  map[[4]int]bool // communicator, sender, receiver, tag of messages without data
}

// New draws case number of a run with this seed.
func New(seed uint64, number int, p Params) *program.Case {
	g := &generator{
		rng:    rand.New(rand.NewPCG(seed, uint64(number))),
		p:      p,
		budget: p.MaxBytes,
		used:   map[[3]int]int{},
		slots:  make([]int, p.Ranks),
		mslots: make([]int, p.Ranks),
		empty:  map[[4]int]bool{},
	}
	g.style = newStyle(g.rng, p)
	g.c = &program.Case{Number: number, Key: g.rng.Uint64(), Ranks: p.Ranks, Cell: newCell(g.rng)}
	g.units()
	g.settle()
	g.buffers()
	g.formTakes()
	g.formTransfers()
	g.complete()
	g.build()
	g.joinStarts()
	g.c.Weaken()
	if p.Host {
		g.c.Split() // MPICH 4.0 frees the datatypes of Isendrecv once too often
		g.c.Weaken()
	}
	g.c.Finish()
	return g.c
}

// add makes an item for a thread.
func (g *generator) add(rank, thread int, key float64, op program.Op) *item {
	it := &item{rank: rank, thread: thread, key: key, op: op, index: -1}
	g.items = append(g.items, it)
	return it
}

// insert makes an item at a step between those of the units.
func (g *generator) insert(rank, thread, base int, op program.Op) *item {
	at := [3]int{rank, thread, base}
	g.used[at]++
	op.Step = base + g.used[at]
	return g.add(rank, thread, 0, op)
}

func (g *generator) slot(rank int) []int {
	g.slots[rank]++
	return []int{g.slots[rank] - 1}
}

// settle turns keys into steps. Operations of one thread never share one.
func (g *generator) settle() {
	type place struct {
		rank, thread int
		key          float64
	}
	taken := map[place]bool{}
	keys := make([]float64, len(g.items))
	for i, it := range g.items {
		for taken[place{it.rank, it.thread, it.key}] {
			it.key = math.Nextafter(it.key, math.Inf(1))
		}
		taken[place{it.rank, it.thread, it.key}] = true
		keys[i] = it.key
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	for i := range keys {
		g.steps = append(g.steps, (i+1)*stepSize)
	}
	for _, it := range g.items {
		i, _ := slices.BinarySearch(keys, it.key)
		it.op.Step = g.steps[i]
	}
}

// build puts the items into the case's lists.
func (g *generator) build() {
	g.c.Threads = make([][][]program.Op, g.p.Ranks)
	for r := range g.c.Threads {
		g.c.Threads[r] = make([][]program.Op, g.p.Threads)
	}
	slices.SortStableFunc(g.items, func(a, b *item) int { return cmp.Compare(a.op.Step, b.op.Step) })
	for _, it := range g.items {
		ops := &g.c.Threads[it.rank][it.thread]
		it.index = len(*ops)
		*ops = append(*ops, it.op)
	}
}

func (it *item) place() program.Place {
	return program.Place{Rank: it.rank, Thread: it.thread, Index: it.index}
}

// facts are those of the items so far, with the sends and receives by item.
type facts struct {
	*program.Facts
	send map[program.Place]program.Sent
	post map[program.Place]program.Posted
}

func (g *generator) facts() facts {
	g.build()
	f := facts{g.c.Facts(), map[program.Place]program.Sent{}, map[program.Place]program.Posted{}}
	for _, s := range f.Sends {
		f.send[s.Place] = s
	}
	for _, p := range f.Posts {
		f.post[p.Place] = p
	}
	return f
}

// certain reports whether what it begins is complete when all operations up to
// step by have begun.
func (f facts) certain(it *item, by int) bool {
	if s, ok := f.send[it.place()]; ok && s.Mode != program.Buffered && !f.SendCertain(s, by) {
		return false
	}
	p, ok := f.post[it.place()]
	return !ok || f.RecvCertain(p, by)
}

// later is a random step not before from.
func (g *generator) later(from int) int {
	i, _ := slices.BinarySearch(g.steps, from)
	i += g.rng.IntN(1 + g.rng.IntN(6))
	return g.steps[min(i, len(g.steps)-1)]
}
