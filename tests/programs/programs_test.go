package programs

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	full  = flag.Bool("full", false, "run every program in every mode with every number of ranks")
	limit = flag.Duration("limit", time.Minute, "time for one run of a program")
)

// mode is a way to run a program: natively, over the library in one coherence
// mode, or as a job of two hosts, each with half of the ranks, which talk among
// each other through coherent memory and to the other host as given behind the
// blank.
type mode string

const (
	native mode   = "native"
	hosts  string = "hosts "
)

// coherence is what CMPI_COHERENCE is for the mode.
func (m mode) coherence() string { return strings.TrimPrefix(string(m), hosts) }

// ranks lists, per mode, the numbers of ranks of an ordinary run. Every
// mechanism is met with 2 ranks; odd numbers, more peers and more ranks than
// cores are tried where a run is cheapest.
var ranks = []struct {
	mode  mode
	usual []int
}{
	{native, []int{2, 3}},
	{"coherent", []int{2, 3, 4, 8}},
	{"flush", []int{2, 4}},
	{"emulate", []int{2, 3}},
	{mode(hosts + "flush"), []int{4}},
	{mode(hosts + "emulate"), []int{3}},
}

// allRanks is what every mode runs with under -full.
var allRanks = []int{2, 3, 4, 8}

// program is one executable and what it needs to know beyond its defaults.
type program struct {
	name string
	args map[mode][]string
	exit int          // the exit code of success, when that isn't 0 with a line "OK name"
	most map[mode]int // the largest number of ranks, where more don't work or take too long
}

// pairsOnly is for programs of one-sided communication: the host MPI's ranks
// spin while they wait for each other's progress, for minutes when there are more
// of them than processors, and MPICH 4.0's fetch-and-op loses updates of three.
var pairsOnly = map[mode]int{native: 2}

var list = []program{
	{name: "ring"},
	{name: "halo"},
	{name: "masterworker"},
	{name: "traffic", args: map[mode][]string{"emulate": {"bytes=400000", "volume=600000"}}},
	{name: "large", args: map[mode][]string{"emulate": {"bytes=4000000"}}},
	{name: "self"},
	{name: "requests"},
	// MPICH 4.0 can't split a message inside a member of a struct.
	{name: "datatypes", args: map[mode][]string{native: {"longest=4000"}}},
	{name: "communicators"},
	// MPICH 4.0 forgets the status of a receive from MPI_PROC_NULL.
	{name: "errors", args: map[mode][]string{native: {"strict=0"}}},
	{name: "progress"},
	// MPICH needs the sender's help for all but small messages.
	{name: "independent", args: map[mode][]string{native: {"bytes=1000"}}},
	// MPICH alone spins where ranks share processors.
	{name: "crowd", args: map[mode][]string{native: {"polite=0"}}},
	{name: "threads"},
	// MPICH 4.0 crashes on partitioned communication with MPI_PROC_NULL.
	{name: "partitioned", most: map[mode]int{native: 2}, args: map[mode][]string{native: {"null=0"}, "emulate": {"unit=100", "often=300"}, mode(hosts + "emulate"): {"unit=100", "often=300"}}},
	{name: "leak"},
	{name: "abort", exit: 42},
	{name: "fortran_mpif"},
	{name: "fortran_mpi"},
	{name: "fortran_f08"},
	{name: "rma_halo", most: pairsOnly, args: map[mode][]string{native: {"round=64"}}},
	{name: "rma_hash", most: pairsOnly},
	{name: "rma_counter", most: pairsOnly},
	{name: "rma_queue", most: pairsOnly},
	{name: "rma_types", most: pairsOnly, args: map[mode][]string{native: {"round=64"}}},
	{name: "rma_ops", most: pairsOnly},
	{name: "rma_shared", most: pairsOnly},
	{name: "rma_errors", most: pairsOnly, args: map[mode][]string{native: {"strict=0"}}},
	{name: "rma_windows", most: pairsOnly, args: map[mode][]string{"emulate": {"windows=5", "bytes=100000"}}},
	{name: "rma_fortran", most: pairsOnly},
}

// paths are the files that the tests need.
type paths struct {
	mpiexec, programs, library string
}

// prepare builds the programs, and skips the test where there is no MPI.
func prepare(t *testing.T) paths {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	p := paths{
		programs: filepath.Join(root, "build/out/programs"),
		library:  filepath.Join(root, "build/out/libcmpi.so"),
	}
	for _, tool := range []string{"mpiexec.mpich", "mpicc.mpich", "mpif90.mpich"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("MPICH is not installed (build/setup installs it): %v", err)
		}
	}
	p.mpiexec, err = exec.LookPath("mpiexec.mpich")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("./build.sh").CombinedOutput(); err != nil {
		t.Fatalf("build.sh: %v\n%s", err, out)
	}
	return p
}

// TestPrograms runs every program in every mode.
func TestPrograms(t *testing.T) {
	p := prepare(t)
	for _, prog := range list {
		t.Run(prog.name, func(t *testing.T) {
			for _, m := range ranks {
				t.Run(string(m.mode), func(t *testing.T) {
					if m.mode != native {
						if _, err := os.Stat(p.library); err != nil {
							t.Skipf("the library is not built (make lib): %v", err)
						}
					}
					counts := m.usual
					if *full {
						counts = allRanks
					}
					for _, n := range counts {
						if most := prog.most[m.mode]; most > 0 && n > most {
							continue
						}
						t.Run(strconv.Itoa(n), func(t *testing.T) { p.run(t, prog, m.mode, n) })
					}
				})
			}
		})
	}
}

// TestListed fails when a source file has no entry in the list: a program that
// is never run verifies nothing.
func TestListed(t *testing.T) {
	var sources, listed []string
	for _, pattern := range []string{"src/*.c", "src/*.f90"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			sources = append(sources, strings.TrimSuffix(filepath.Base(f), filepath.Ext(f)))
		}
	}
	for _, prog := range list {
		listed = append(listed, prog.name)
	}
	slices.Sort(sources)
	slices.Sort(listed)
	if d := cmp.Diff(sources, listed); d != "" {
		t.Errorf("sources (-) and list of programs (+) differ:\n%s", d)
	}
}

// run runs one program and judges its output and exit code. Anything printed
// beside the line "OK name" is a failure: the library is silent when all is
// well.
func (p paths) run(t *testing.T, prog program, m mode, n int) {
	var args []string
	if m != native {
		// Only for the ranks: mpiexec itself stays as it is.
		args = append(args, "-genv", "LD_PRELOAD", p.library, "-genv", "CMPI_COHERENCE", m.coherence(), "-genv", "CMPI_REQUIRE", "1")
	}
	own := prog.args[m]
	if own == nil {
		own = prog.args[mode(m.coherence())]
	}
	command := append([]string{filepath.Join(p.programs, prog.name)}, own...)
	if strings.HasPrefix(string(m), hosts) && n > 1 {
		first := (n + 1) / 2
		args = append(args, "-n", strconv.Itoa(first), "-env", "CMPI_HOST", "a")
		args = append(append(args, command...), ":", "-n", strconv.Itoa(n-first), "-env", "CMPI_HOST", "b")
	} else {
		args = append(args, "-n", strconv.Itoa(n))
	}
	args = append(args, command...)
	stdout, stderr, code, err := execute(p.mpiexec, args)
	want := fmt.Sprintf("OK %s\n", prog.name)
	if prog.exit != 0 {
		want, stderr = "", "" // MPI reports the abort there
	}
	if err == nil && code == prog.exit && stdout == want && stderr == "" {
		return
	}
	t.Errorf("%s %s: exit code %d, want %d, error %v\nstdout:\n%sstderr:\n%s",
		p.mpiexec, strings.Join(args, " "), code, prog.exit, err, stdout, stderr)
}

// execute runs mpiexec to its end or to the time limit, with everything that it
// started. The error is not about the exit code.
func execute(mpiexec string, args []string) (stdout, stderr string, code int, err error) {
	// mpiexec ends the ranks cleanly at its own time limit; the second limit is
	// for mpiexec.
	const grace = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), *limit+grace)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, mpiexec, args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("MPIEXEC_TIMEOUT=%d", int(limit.Seconds())))
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	start := time.Now()
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code, err = exit.ExitCode(), nil
	}
	if time.Since(start) >= *limit {
		err = fmt.Errorf("not finished within %v", *limit)
	}
	return out.String(), errs.String(), code, err
}
