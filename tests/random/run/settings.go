// Package run executes generated programs (package program) on a real MPI: it
// builds the executor, starts it by mpiexec, natively or with the library
// preloaded, watches that it gets on, and has package model judge what it saw.
package run

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"cmpi/tests/random/generate"
	"cmpi/tests/random/program"
)

// Mode is the value of CMPI_COHERENCE, or Native.
type Mode string

// Native is the host MPI alone: it judges the judge.
const Native Mode = "native"

// Modes are all modes.
var Modes = []Mode{Native, "coherent", "flush", "uncached", "emulate"}

// Batch is what the cases of one start of the executor have in common. It
// follows from the seed of the whole and the batch's number.
type Batch struct {
	Mode           Mode
	Ranks, Threads int
	Level          program.ThreadLevel
	Env            []string // CMPI_* variables
	Params         generate.Params
}

// Wish restricts what is drawn; zero means no restriction.
type Wish struct{ Ranks, Threads int }

// Size is the number of cases in a batch: enough that starting ranks doesn't
// count, few enough that a run tries many settings.
const Size = 100

// pick draws one of the list.
func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// NewBatch draws a batch.
func NewBatch(seed uint64, number int, mode Mode, wish Wish) Batch {
	r := rand.New(rand.NewPCG(seed, 1<<32+uint64(number)))
	b := Batch{Mode: mode, Ranks: pick(r, 2, 2, 2, 3, 3, 4), Threads: pick(r, 1, 1, 1, 1, 2, 3)}
	if mode == Native {
		// MPICH's ranks spin while they wait: with more of them than
		// processors each case takes a time slice of the kernel's.
		b.Ranks, b.Threads = 2, pick(r, 1, 1, 1, 1, 1, 2)
	}
	if wish.Ranks > 0 {
		b.Ranks = wish.Ranks
	}
	if wish.Threads > 0 {
		b.Threads = wish.Threads
	}
	b.Level = pick(r, program.Single, program.Funneled, program.Serialized)
	if b.Threads > 1 {
		b.Level = program.Multiple
	}
	b.Params = generate.Params{Ranks: b.Ranks, Threads: b.Threads, Host: mode == Native, MaxBytes: 4 << 20,
		Limits: []int{40, 56, 64, 96, 200, 1024, 1 << 20}}
	if mode == "emulate" {
		b.Params.MaxBytes = 1 << 20
	}
	if mode == Native {
		b.Params.Limits = append(b.Params.Limits, 8<<10, 64<<10)
	} else {
		b.drawSettings(r)
	}
	return b
}

// defaultLines is CMPI_RING_LINES when nothing is said.
const defaultLines = 2048

// drawSettings draws what the library can be told, the default of each most
// often.
func (b *Batch) drawSettings(r *rand.Rand) {
	limit := func(n int) { b.Params.Limits = append(b.Params.Limits, n) }
	set := func(name string, value any) { b.Env = append(b.Env, fmt.Sprintf("%s=%v", name, value)) }
	// number sets a variable to one of the values, or leaves its default.
	number := func(name string, fallback int, values ...int) int {
		if r.IntN(100) < 45 {
			return fallback
		}
		n := pick(r, values...)
		set(name, n)
		return n
	}
	eager := 16 << 10
	if b.Mode == "coherent" {
		eager = 32 << 10
	}
	limit(number("CMPI_EAGER_LIMIT", eager, 1, 64, 100, 1000, 4096, 100_000))
	limit(number("CMPI_SINGLE_COPY_MIN", 512<<10, 1, 2000, 20_000, 100_000))
	limit(min(number("CMPI_STAGE_LIMIT", 64<<20, 1, 4096, 100_000, 300_000), 2<<20))
	lines := number("CMPI_RING_LINES", defaultLines, 8, 16, 64, 256, 512)
	limit(lines * 56)
	number("CMPI_SEQ_BITS", 40, 4, 5, 8, 12)
	number("CMPI_POOL_SIZE", 1<<30, 8<<20, 12<<20, 24<<20)
	if r.IntN(100) < 30 {
		set("CMPI_SINGLE_COPY", "off")
	}
	for _, v := range []struct {
		name    string
		percent int
		value   any
	}{{"CMPI_FAST", 25, 0}, {"CMPI_NO_VECTOR", 20, 1}, {"CMPI_RING", 10, "paper"}} {
		if r.IntN(100) < v.percent {
			set(v.name, v.value)
		}
	}
	if b.Mode == "emulate" {
		set("CMPI_SEED", 1+r.IntN(1<<30))
		number("CMPI_CHAOS", 10, 1, 30)
	}
	b.repair(lines)
}

// repair takes out settings that contradict each other.
func (b *Batch) repair(lines int) {
	drop := func(name string) {
		b.Env = slices.DeleteFunc(b.Env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	}
	if slices.Contains(b.Env, "CMPI_RING=paper") && lines < 512 {
		drop("CMPI_RING_LINES") // a cell is 16 KiB
		lines = defaultLines
	}
	for _, kv := range b.Env {
		var bits int
		if n, _ := fmt.Sscanf(kv, "CMPI_SEQ_BITS=%d", &bits); n == 1 && lines > 1<<(bits-1) {
			drop("CMPI_SEQ_BITS") // a lap must have fewer lines than there are numbers
			break
		}
	}
}

// String is the batch for a person.
func (b Batch) String() string {
	levels := []string{"single", "funneled", "serialized", "multiple"}
	s := fmt.Sprintf("%s, %d ranks, %d threads (%s)", b.Mode, b.Ranks, b.Threads, levels[b.Level])
	if len(b.Env) > 0 {
		s += ", " + strings.Join(b.Env, " ")
	}
	return s
}

// Case makes a case of the batch.
func (b Batch) Case(seed uint64, number int) *program.Case {
	return generate.New(seed, number, b.Params)
}
