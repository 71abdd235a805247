package tools

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cmpi/tests/job"
)

// way is how a program runs, always with the tool.
type way struct {
	name string
	mode job.Mode
	env  []string
}

// ways begins with the one that the others are compared with.
var ways = []way{
	{"native", job.Native, nil},
	{"coherent", job.Coherent, nil},
	{"coherent, no fast path", job.Coherent, []string{"CMPI_FAST=0"}},
	{"flush", job.Flush, nil},
}

// program is one of the programs and how it is built.
type program struct {
	name   string
	build  []string // compiler, flags and sources
	args   []string
	linked bool // the tool is part of the program
}

var (
	cc = []string{"mpicc.mpich", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror",
		"-Wno-stringop-overflow"} // MPI_STATUSES_IGNORE is the address 1
	fc = []string{"mpif90.mpich", "-O2", "-Wall", "-Werror", "-Wno-unused-dummy-argument", "-Wno-maybe-uninitialized"}
)

var programs = []program{
	{name: "C", build: append(slices.Clip(cc), "src/calls.c")},
	{name: "C, Init_thread", build: append(slices.Clip(cc), "src/calls.c"), args: []string{"thread"}},
	{name: "C, tool linked in", build: append(slices.Clip(cc), "src/calls.c", "src/prof.c"), linked: true},
	{name: "mpif.h", build: append(slices.Clip(fc), "-DBINDING_MPIF", "src/calls.F90")},
	{name: "use mpi", build: append(slices.Clip(fc), "-DBINDING_MPI", "src/calls.F90")},
	{name: "use mpi_f08", build: append(slices.Clip(fc), "-DBINDING_F08", "src/calls.F90")},
}

// compile makes a file in a temporary folder and returns its path.
func compile(t *testing.T, name string, command ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), name)
	command = append(slices.Clip(command), "-o", out)
	if text, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, text)
	}
	return out
}

// counts is how often each function was called.
type counts map[string]int

// output is what a program and the tool have printed.
type output struct {
	made, seen map[int]counts // by rank
	rest       []string
}

// read takes the lines of a run apart.
func read(stdout string) (output, error) {
	o := output{made: map[int]counts{}, seen: map[int]counts{}}
	for line := range strings.Lines(stdout) {
		f := strings.Fields(line)
		var into map[int]counts
		switch {
		case len(f) > 1 && f[0] == "made":
			into = o.made
		case len(f) > 1 && f[0] == "seen":
			into = o.seen
		default:
			o.rest = append(o.rest, line)
			continue
		}
		rank, err := strconv.Atoi(f[1])
		if err != nil || into[rank] != nil {
			return o, fmt.Errorf("line %q", line)
		}
		c := counts{}
		for _, item := range f[2:] {
			name, number, _ := strings.Cut(item, "=")
			if c[name], err = strconv.Atoi(number); err != nil {
				return o, fmt.Errorf("line %q: %w", line, err)
			}
		}
		into[rank] = c
	}
	return o, nil
}

// repeated are functions that a program calls until something has happened:
// how often depends on the moment.
var repeated = []string{"Test", "Testall", "Testany", "Testsome", "Waitsome", "Iprobe"}

// settled is what two runs of a program have in common.
func (o output) settled() output {
	s := output{made: map[int]counts{}, rest: o.rest}
	for rank, made := range o.made {
		c := counts{}
		for name, n := range made {
			if slices.Contains(repeated, name) {
				n = min(n, 1)
			}
			c[name] = n
		}
		s.made[rank] = c
	}
	return s
}

// TestTool runs the programs with the tool in front of everything else, natively
// and over the library. What the tool sees is what the program calls.
func TestTool(t *testing.T) {
	job.Require(t, "mpiexec.mpich", "mpicc.mpich", "mpif90.mpich")
	job.Library(t)
	tool := compile(t, "prof.so", append(slices.Clip(cc), "-shared", "-fPIC", "src/prof.c")...)
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			path := compile(t, "program", p.build...)
			for _, ranks := range []int{2, 3} {
				var native output
				for _, w := range ways {
					t.Run(fmt.Sprintf("%s/%d", w.name, ranks), func(t *testing.T) {
						j := job.Job{Program: append([]string{path}, p.args...), Ranks: ranks, Mode: w.mode, Env: w.env}
						if !p.linked {
							j.Before = []string{tool}
						}
						got := check(t, j)
						if w.mode == job.Native {
							native = got
							return
						}
						if native.made == nil {
							return // -run has left it out
						}
						if d := cmp.Diff(native, got, cmp.AllowUnexported(output{})); d != "" {
							t.Errorf("%v\nnative (-) and over the library (+):\n%s", j, d)
						}
					})
				}
			}
		})
	}
}

// check runs a job, compares what was called with what the tool has seen, and
// gives what other runs must give too.
func check(t *testing.T, j job.Job) output {
	t.Helper()
	r := j.Run()
	if !r.OK() || r.Stderr != "" {
		t.Fatalf("%v: %v", j, r)
	}
	o, err := read(r.Stdout)
	if err != nil {
		t.Fatalf("%v: %v: %v", j, err, r)
	}
	if len(o.made) != j.Ranks || !slices.Equal(o.rest, []string{"OK calls\n"}) {
		t.Fatalf("%v: %v", j, r)
	}
	if d := cmp.Diff(o.made, o.seen); d != "" {
		t.Errorf("%v\ncalled (-) and seen (+):\n%s", j, d)
	}
	return o.settled()
}

// TestRead keeps a line that is cut off from being taken for a count.
func TestRead(t *testing.T) {
	got, err := read("made 1 Send=2 Recv=3\nOK calls\nseen 1 Send=2\n")
	want := output{
		made: map[int]counts{1: {"Send": 2, "Recv": 3}},
		seen: map[int]counts{1: {"Send": 2}},
		rest: []string{"OK calls\n"},
	}
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(output{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, bad := range []string{"made x Send=1\n", "seen 0 Send\n", "made 0 Send=1\nmade 0 Send=1\n"} {
		if _, err := read(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
