// Package job runs MPI programs for the tests of the folders beside it, as a
// user does: natively, or with the library preloaded into the ranks, and only
// into them.
//
// A Job says what is run, Run runs it to its end or to its time limit and gives
// what it printed. Nothing that a job has started outlives Run.
//
// The library is build/out/libcmpi.so; go test PACKAGE -library FILE takes
// another one, for example a copy that nobody rebuilds meanwhile. Variables
// CMPI_* that are set reach the ranks.
package job

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
)

var library = flag.String("library", "", "the library to preload (default build/out/libcmpi.so)")

// Mode is a way to run a program: natively, or over the library in one
// coherence mode.
type Mode string

// The modes. Each but Native is a value of CMPI_COHERENCE.
const (
	Native   Mode = "native"
	Coherent Mode = "coherent"
	Flush    Mode = "flush"
	Emulate  Mode = "emulate"
)

// Mpiexec is the launcher; a job belongs to one MPI, so it is called by its
// full name.
const Mpiexec = "mpiexec.mpich"

// Job is one run of a program.
type Job struct {
	Program []string // its path and arguments
	Mpiexec string   // a launcher with mpiexec's arguments, as a lab's; the constant Mpiexec if empty
	Ranks   int
	Mode    Mode
	Dir     string        // where it runs; this process's own folder if empty
	Before  []string      // libraries preloaded in front of ours
	Env     []string      // NAME=value, for the ranks
	Limit   time.Duration // DefaultLimit if zero
}

// DefaultLimit is for one run, many times what a small one takes on a loaded
// machine.
const DefaultLimit = time.Minute

// grace is how long mpiexec has to end the ranks when it has reached the limit.
const grace = 10 * time.Second

// Result is how a job ended.
type Result struct {
	Stdout, Stderr string
	Code           int   // the exit code
	Err            error // what kept it from ending by itself with an exit code
	Elapsed        time.Duration
}

// OK says whether the job ended by itself with exit code 0.
func (r Result) OK() bool { return r.Err == nil && r.Code == 0 }

// String is the result as a failed test shows it.
func (r Result) String() string {
	return fmt.Sprintf("exit code %d, error %v, %.1f s\nstdout:\n%sstderr:\n%s", r.Code, r.Err, r.Elapsed.Seconds(), r.Stdout, r.Stderr)
}

// Require skips the test when a tool is missing. The package is what
// build/setup installs it with.
func Require(t testing.TB, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("MPICH is not installed (build/setup installs it): %v", err)
		}
	}
}

// Library is the path of the library. The test is skipped when it isn't built.
func Library(t testing.TB) string {
	t.Helper()
	path, err := libraryPath()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the library is not built (make lib): %v", err)
	}
	return path
}

// libraryPath is an absolute path: ranks may run in another folder.
func libraryPath() (string, error) {
	path := *library
	if path == "" {
		path = "../../build/out/libcmpi.so" // from the folder of a test
	}
	return filepath.Abs(path)
}

// Args is the command line after the launcher's name.
func (j Job) Args() ([]string, error) {
	args := []string{"-n", strconv.Itoa(j.Ranks)}
	preload := slices.Clone(j.Before)
	env := slices.Clone(j.Env)
	if j.Mode != Native {
		path, err := libraryPath()
		if err != nil {
			return nil, err
		}
		preload = append(preload, path)
		env = append(env, "CMPI_COHERENCE="+string(j.Mode), "CMPI_REQUIRE=1")
	}
	if len(preload) > 0 {
		env = append(env, "LD_PRELOAD="+strings.Join(preload, ":"))
	}
	for _, variable := range env {
		name, value, ok := strings.Cut(variable, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not NAME=value", variable)
		}
		args = append(args, "-genv", name, value)
	}
	return append(args, j.Program...), nil
}

// String is the command line for a person.
func (j Job) String() string {
	args, err := j.Args()
	if err != nil {
		return err.Error()
	}
	return j.launcher() + " " + strings.Join(args, " ")
}

func (j Job) launcher() string {
	if j.Mpiexec == "" {
		return Mpiexec
	}
	return j.Mpiexec
}

// Run runs the job.
func (j Job) Run() Result {
	args, err := j.Args()
	if err != nil {
		return Result{Err: err}
	}
	limit := j.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	// mpiexec ends the ranks cleanly at its own time limit; the second limit is
	// for mpiexec.
	ctx, cancel := context.WithTimeout(context.Background(), limit+grace)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, j.launcher(), args...)
	cmd.Dir = j.Dir
	cmd.Env = append(os.Environ(), fmt.Sprintf("MPIEXEC_TIMEOUT=%d", int(limit.Seconds())))
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	start := time.Now()
	err = cmd.Run()
	r := Result{Stdout: out.String(), Stderr: errs.String(), Err: err, Elapsed: time.Since(start)}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		r.Code, r.Err = exit.ExitCode(), nil
	}
	if r.Elapsed >= limit {
		r.Err = fmt.Errorf("not finished within %v", limit)
	}
	return r
}
