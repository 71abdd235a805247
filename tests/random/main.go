// Command random generates random MPI programs, executes them, natively or with
// the library preloaded, and checks what they observe against MPI's rules of
// matching. See README.md.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"cmpi/tests/random/program"
	"cmpi/tests/random/run"
	"cmpi/tests/random/shrink"
)

// options are the command line.
type options struct {
	modes    string
	cases    int
	first    int
	only     int
	repeat   int
	seed     uint64
	wish     run.Wish
	library  string
	sources  string
	build    string
	patience time.Duration
	duration time.Duration
	most     int
	shrink   bool
	print    bool
	asJSON   bool
}

func main() {
	var o options
	flag.StringVar(&o.modes, "mode", "coherent", "native, coherent, flush, uncached, emulate, several with commas, or all")
	flag.IntVar(&o.cases, "cases", 1000, "cases per mode")
	flag.IntVar(&o.first, "first", 0, "number of the first case, a multiple of 100")
	flag.IntVar(&o.only, "only", -1, "this case alone, with its batch's settings")
	flag.IntVar(&o.repeat, "repeat", 20, "how often a single case is executed, with -only and by -shrink")
	flag.Uint64Var(&o.seed, "seed", 1, "seed: the same seed gives the same cases and settings")
	flag.IntVar(&o.wish.Ranks, "ranks", 0, "number of ranks, 0 for 2 to 4")
	flag.IntVar(&o.wish.Threads, "threads", 0, "threads per rank, 0 for 1 to 3")
	flag.StringVar(&o.library, "library", "build/out/libcmpi.so", "the library")
	flag.StringVar(&o.sources, "sources", "tests/random/executor", "sources of the executor")
	flag.StringVar(&o.build, "build", "build/out/random", "folder for the executor")
	flag.DurationVar(&o.patience, "patience", run.DefaultPatience, "a run in which nothing moves for so long hangs")
	flag.DurationVar(&o.duration, "duration", 0, "stop after this time, 0 for never")
	flag.IntVar(&o.most, "failures", 5, "stop after so many failed cases")
	flag.BoolVar(&o.shrink, "shrink", false, "make failing cases smaller")
	flag.BoolVar(&o.print, "print", false, "print the cases instead of executing them")
	flag.BoolVar(&o.asJSON, "json", false, "results as JSON on stdout")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := o.run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "random:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// result is what one mode came to.
type result struct {
	Mode     run.Mode  `json:"mode"`
	Seed     uint64    `json:"seed"`
	Cases    int       `json:"cases"`
	Ops      int       `json:"operations"`
	Seconds  float64   `json:"seconds"`
	Failures []failure `json:"failures,omitempty"`
}

type failure struct {
	Case     int      `json:"case"`
	Settings string   `json:"settings"`
	Problems []string `json:"problems"`
	Program  string   `json:"program"`
	Shrunk   bool     `json:"shrunk"`
}

func (o *options) run(ctx context.Context) (ok bool, err error) {
	var modes []run.Mode
	if o.modes == "all" {
		modes = run.Modes
	} else {
		for m := range strings.SplitSeq(o.modes, ",") {
			modes = append(modes, run.Mode(m))
		}
	}
	if o.print {
		o.printCases(modes[0])
		return true, nil
	}
	executor, err := run.Build(o.sources, o.build)
	if err != nil {
		return false, err
	}
	r := &run.Runner{Executor: executor, Library: o.library, Patience: o.patience}
	ok = true
	var results []result
	for _, m := range modes {
		res, err := o.mode(ctx, r, m)
		results = append(results, res)
		ok = ok && len(res.Failures) == 0
		if err != nil {
			return false, err
		}
		o.say("%s: %d cases, %d operations, %d failed, %.0f s (seed %d)\n", m, res.Cases, res.Ops, len(res.Failures), res.Seconds, o.seed)
	}
	if o.asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return ok, e.Encode(results)
	}
	return ok, nil
}

// say prints progress, not where JSON goes.
func (o *options) say(format string, args ...any) {
	w := os.Stdout
	if o.asJSON {
		w = os.Stderr
	}
	fmt.Fprintf(w, format, args...)
}

// numbers are the cases of a batch.
func (o *options) numbers(batch int) (list []int) {
	if o.only >= 0 {
		for range o.repeat {
			list = append(list, o.only)
		}
		return list
	}
	for n := batch * run.Size; n < min((batch+1)*run.Size, o.first+o.cases); n++ {
		list = append(list, n)
	}
	return list
}

func (o *options) printCases(m run.Mode) {
	if o.only >= 0 {
		b := run.NewBatch(o.seed, o.only/run.Size, m, o.wish)
		fmt.Printf("%v\n%v", b, b.Case(o.seed, o.only))
		return
	}
	for n := o.first; n < o.first+o.cases; n++ {
		b := run.NewBatch(o.seed, n/run.Size, m, o.wish)
		fmt.Printf("%v\n%v\n", b, b.Case(o.seed, n))
	}
}

// mode executes all cases in one mode.
func (o *options) mode(ctx context.Context, r *run.Runner, m run.Mode) (res result, err error) {
	start := time.Now()
	res = result{Mode: m, Seed: o.seed}
	defer func() { res.Seconds = time.Since(start).Seconds() }()
	batches := []int{}
	for i := o.first / run.Size; i*run.Size < o.first+o.cases; i++ {
		batches = append(batches, i)
	}
	if o.only >= 0 {
		batches = []int{o.only / run.Size}
	}
	for _, i := range batches {
		b := run.NewBatch(o.seed, i, m, o.wish)
		numbers := o.numbers(i)
		began := time.Now()
		before := len(res.Failures)
		// A run that ends early is begun again behind the case that ended it.
		for len(numbers) > 0 {
			var cases []*program.Case
			for _, n := range numbers {
				cases = append(cases, b.Case(o.seed, n))
			}
			failures, done, err := r.Run(ctx, b, cases)
			if err != nil {
				return res, err
			}
			for _, c := range cases[:done] {
				res.Cases++
				res.Ops += c.Len()
			}
			for _, f := range failures {
				res.Failures = append(res.Failures, o.report(ctx, r, b, f))
				if len(res.Failures) >= o.most {
					return res, nil
				}
			}
			numbers = numbers[done:]
		}
		o.say("%s: cases to %d, %.1f s: %d failed; %v\n", m, res.Cases, time.Since(began).Seconds(), len(res.Failures)-before, b)
		if o.duration > 0 && time.Since(start) > o.duration {
			break
		}
	}
	return res, nil
}

// report tells of a failure, shrunk if that was asked for.
func (o *options) report(ctx context.Context, r *run.Runner, b run.Batch, f *run.Failure) failure {
	shrunk := false
	o.say("FAILED %v\n%v\n", b, f)
	if o.shrink {
		if g := o.smaller(ctx, r, b, f); g != nil {
			f, shrunk = g, true
			o.say("shrunk to %d operations:\n%v\n", f.Case.Len(), f)
		} else {
			o.say("it does not fail again alone\n")
		}
	}
	o.say("%v\n", f.Case)
	return failure{Case: f.Case.Number, Settings: b.String(), Problems: f.Problems, Program: f.Case.String(), Shrunk: shrunk}
}

// smaller shrinks a failing case; nil if it doesn't fail alone.
func (o *options) smaller(ctx context.Context, r *run.Runner, b run.Batch, f *run.Failure) *run.Failure {
	// What hangs, hangs; a second or two show it.
	quick := *r
	quick.Patience = min(r.Patience, 3*time.Second)
	var last *run.Failure
	fails := func(c *program.Case) bool {
		cases := make([]*program.Case, o.repeat)
		for i := range cases {
			cases[i] = c
		}
		failures, _, err := quick.Run(ctx, b, cases)
		if err != nil {
			return false
		}
		for _, g := range failures {
			if g.Kind == f.Kind {
				last = g
				return true
			}
		}
		return false
	}
	if !fails(f.Case) {
		return nil
	}
	shrink.Shrink(f.Case, fails)
	return last
}
