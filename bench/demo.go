package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// demoResult is what the demo program (c/demo.c) prints.
type demoResult struct {
	messages, bytes      int64
	latency, megabytesPS float64
}

// demoRuns are how the demo runs its program, in this order; each as a user
// would type it.
var demoRuns = []Variant{
	{Name: NativeMPICH, Title: "MPICH alone", host: mpich},
	{Name: Coherent, Title: "with cMPI", Settings: []string{}, host: mpich},
	{Name: Flush, Title: "cMPI, as between hosts", Settings: []string{"CMPI_COHERENCE=flush"}, host: mpich},
}

// Demo builds one unmodified MPI program, runs it on two ranks natively and
// over the library, and writes the results side by side. Only Library and
// WorkDir of the options are used.
func Demo(ctx context.Context, w io.Writer, o Options) error {
	if _, err := os.Stat(o.Library); err != nil {
		return fmt.Errorf("the library: %w (make lib builds it)", err)
	}
	sourceDir := filepath.Join(o.WorkDir, "src")
	if err := writeSources(sourceDir); err != nil {
		return err
	}
	program, err := mpich.compile(ctx, sourceDir, o.WorkDir, "demo")
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "An ordinary MPI program (bench/c/demo.c, built with mpicc.mpich), two ranks on this machine:")
	fmt.Fprintln(w)

	t := &table{title: "One program, not changed or rebuilt between the runs:"}
	t.add("", "latency, 8 B", "bandwidth, 1 MiB", "all bytes checked")
	var base demoResult
	for i, v := range demoRuns {
		fmt.Fprintf(w, "  $ %s\n", o.typed(v, program))
		out, err := start(ctx, o.WorkDir, o.demoCommand(v, program))
		if err != nil {
			return err
		}
		r, err := parseDemo(out)
		if err != nil {
			return err
		}
		if i == 0 {
			base = r
		}
		t.add(v.Title,
			fmt.Sprintf("%.2f µs  %5.2f ×", r.latency, r.latency/base.latency),
			fmt.Sprintf("%.1f GB/s  %5.2f ×", r.megabytesPS/1e3, r.megabytesPS/base.megabytesPS),
			fmt.Sprintf("verified (%d messages, %d MiB)", r.messages, r.bytes>>20))
	}
	t.writeText(w)
	fmt.Fprintln(w, "\n× is the ratio to MPICH alone: less is better for latency, more for bandwidth.")
	fmt.Fprintln(w, "One short run each; make bench measures with repetitions.")
	return nil
}

// demoCommand is what typed shows, so that a user who repeats it sees the same;
// only require is added, which keeps a run without the library from being shown.
func (o Options) demoCommand(v Variant, program string) []string {
	argv := []string{"env"}
	if v.Preloaded() {
		argv = append(append(argv, v.Settings...), require, "LD_PRELOAD="+o.Library)
	}
	return append(argv, v.host.starter, "-n", "2", program)
}

// typed is the command line as a user would type it.
func (o Options) typed(v Variant, program string) string {
	argv := append([]string{}, v.Settings...)
	if v.Preloaded() {
		argv = append(argv, "LD_PRELOAD="+shorten(o.Library))
	}
	return strings.Join(append(argv, v.host.starter, "-n", "2", shorten(program)), " ")
}

// shorten makes a path relative to the working directory if it is below it.
func shorten(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func parseDemo(out string) (demoResult, error) {
	var r demoResult
	n, err := fmt.Sscanf(out, "verified %d %d\nlatency %g\nbandwidth %g\n", &r.messages, &r.bytes, &r.latency, &r.megabytesPS)
	if err != nil || r.latency <= 0 || r.megabytesPS <= 0 {
		return r, errors.Join(fmt.Errorf("the demo program printed %q (%d values)", out, n), err)
	}
	return r, nil
}
