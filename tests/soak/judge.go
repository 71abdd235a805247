package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// finding is what became of one quantity.
type finding struct {
	What  string  `json:"what"`
	First float64 `json:"first"` // lower quartile of the second fifth of the samples
	Last  float64 `json:"last"`  // lower quartile of the last fifth
	Most  float64 `json:"most"`  // that Last may be
	OK    bool    `json:"ok"`
	bytes bool
}

// A quantity may grow by so much and by growthPart of what it was.
const (
	// Memory of a process with a garbage collector wanders by some 100 KiB. The long job
	// makes more than ten thousand objects in half an hour, so that a leak of 200 bytes
	// each is found.
	growth     = 1 << 20
	growthPart = 0.02

	// Of the pool, and of the memory that neighbours share, each rank keeps up to 8 MiB
	// for the next burst of large messages, in a piece or some; how much is by chance.
	// What a round loses comes a thousand times in half an hour.
	poolGrowth  = 8 << 20
	moreObjects = 16

	// The pool's table names a host from its first job on: hostNames, the bystander.
	knownHosts = 4

	// A job that is killed while it starts may leave a file of each of its two hosts in
	// /dev/shm, which the next job there takes away.
	mostFiles = 2

	// In a run that is shorter than settled the first fifth is too short for the
	// memory of a process.
	settled       = 10 * time.Minute
	growthAtFirst = 32 << 20

	// Go's runtime keeps threads that it has once needed: some more, but not one for
	// each communicator or window.
	moreThreads = 8
)

// quantity is one of the numbers in every sample.
type quantity struct {
	what  string
	bytes bool
	slack slack
	of    func(*sample) float64
}

// slack is by how much a quantity may grow.
type slack int

const (
	none      slack = iota
	memory          // growth and growthPart
	pooled          // poolGrowth
	objects         // moreObjects
	threads         // moreThreads
	leftovers       // mostFiles in all
	hosts           // knownHosts in all
)

// most is what a quantity may have become in a run of the given length.
func (s slack) most(first float64, length time.Duration) float64 {
	switch {
	case s == threads:
		return first + moreThreads
	case s == hosts:
		return knownHosts
	case s == leftovers:
		return mostFiles
	case s == objects:
		return first + moreObjects
	case s != none && length < settled:
		return first + growthAtFirst
	case s == pooled:
		return first + poolGrowth
	case s == memory:
		return first*(1+growthPart) + growth
	default:
		return first
	}
}

func quantities(ranks int) (list []quantity) {
	for r := range ranks {
		rank := fmt.Sprintf("rank %d on host %s, ", r, hostNames[r*2/ranks])
		list = append(list,
			quantity{rank + "memory", true, memory, func(s *sample) float64 { return float64(s.Ranks[r].Anon + s.Ranks[r].File) }},
			quantity{rank + "shared memory", true, pooled, func(s *sample) float64 { return float64(s.Ranks[r].Shmem) }},
			quantity{rank + "threads", false, threads, func(s *sample) float64 { return float64(s.Ranks[r].Threads) }},
			quantity{rank + "open files", false, none, func(s *sample) float64 { return float64(s.Ranks[r].Files) }})
	}
	return append(list,
		quantity{"pool, in use", true, pooled, func(s *sample) float64 { return float64(s.Pool.Used) }},
		quantity{"pool, objects", false, objects, func(s *sample) float64 { return float64(s.Pool.Objects) }},
		quantity{"pool, hosts", false, hosts, func(s *sample) float64 { return float64(s.Pool.Hosts) }},
		quantity{"pool file", true, pooled, func(s *sample) float64 { return float64(s.Pool.Allocated) }},
		quantity{"files left in /dev/shm", false, leftovers, func(s *sample) float64 { return float64(len(s.Shm)) }},
		quantity{"temporary files", false, none, func(s *sample) float64 { return float64(len(s.Tmp)) }},
		quantity{"this program, open files", false, none, func(s *sample) float64 { return float64(s.Self.Files) }})
}

// leastSamples are two in each fifth of the time.
const leastSamples = 10

// judge compares the second and the last fifth of a run's samples, at least
// leastSamples, by their lower quartiles: what grows raises all quantiles, and the
// low ones of memory that is collected now and then wander least.
func judge(samples []sample, length time.Duration) (list []finding) {
	n := len(samples)
	for _, q := range quantities(len(samples[0].Ranks)) {
		f := finding{What: q.what, bytes: q.bytes}
		f.First, f.Last = quartile(samples[n/5:2*n/5], q.of), quartile(samples[n-n/5:], q.of)
		f.Most = q.slack.most(f.First, length)
		f.OK = f.Last <= f.Most
		list = append(list, f)
	}
	return list
}

// quartile is a value that a quarter of the samples is below.
func quartile(samples []sample, of func(*sample) float64) float64 {
	var values []float64
	for i := range samples {
		values = append(values, of(&samples[i]))
	}
	slices.Sort(values)
	return values[len(values)/4]
}

// failures are the findings that are not as they should be, as an error.
func failures(list []finding) error {
	var bad []string
	for _, f := range list {
		if !f.OK {
			bad = append(bad, fmt.Sprintf("%s grew from %s to %s", f.What, f.number(f.First), f.number(f.Last)))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return errors.New(strings.Join(bad, "; "))
}

func (f *finding) number(x float64) string {
	if f.bytes {
		return fmt.Sprintf("%.2f MiB", x/(1<<20))
	}
	return fmt.Sprintf("%g", x)
}

// show prints the end of a run for people.
func (r *record) show(w io.Writer) {
	last := &r.Samples[len(r.Samples)-1]
	m, k := r.Counts.Modes, r.Counts.Killed
	fmt.Fprintf(w, "\n%.0f s: %d rounds of the long job; %d short jobs: %d coherent, %d flush, %d emulate, killed %d ranks, %d hosts, %d launchers;"+
		" all had ended %.1f s after a kill, and were cleared up after in %.1f s\n\n", last.Seconds, last.Rounds, r.Counts.Jobs,
		m["coherent"], m["flush"], m["emulate"], k["rank"], k["host"], k["launcher"], r.Counts.Slowest.Seconds(), r.Counts.Looking.Seconds())
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "lower quartile of\t2nd fifth\tlast fifth\tat most\t\t")
	for _, f := range r.Verdict {
		verdict := "ok"
		if !f.OK {
			verdict = "GROWN"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t\n", f.What, f.number(f.First), f.number(f.Last), f.number(f.Most), verdict)
	}
	tw.Flush()
}
