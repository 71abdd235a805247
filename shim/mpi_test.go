package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These tests run unmodified MPI programs (testdata) under Debian's MPICH with
// the library preloaded, as a user does. Without mpicc.mpich they are skipped.

// library builds libcmpi.so once for all tests.
var library string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cmpi-shim")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	library = filepath.Join(dir, "libcmpi.so")
	out, err := exec.Command("go", "build", "-buildmode=c-shared", "-o", library, ".").CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "building the library: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// compile builds a program of testdata and returns its path.
func compile(t *testing.T, source string) string {
	t.Helper()
	compiler := "mpicc.mpich"
	if strings.HasSuffix(source, ".f90") {
		compiler = "mpif90.mpich"
	}
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("no %s here", compiler)
	}
	program := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command(compiler, "-o", program, filepath.Join("testdata", source)).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", source, err, out)
	}
	return program
}

// result is how a job ended.
type result struct {
	stdout, stderr string
	status         syscall.WaitStatus
	timedOut       bool
}

// jobTimeout is far beyond what any of the jobs takes on a loaded machine.
const jobTimeout = 120 * time.Second

func run(t *testing.T, env []string, name string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), jobTimeout)
	defer cancel()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	_ = cmd.Run() // what matters is in the status
	r := result{stdout: stdout.String(), stderr: stderr.String(), timedOut: ctx.Err() != nil}
	if cmd.ProcessState != nil {
		r.status = cmd.ProcessState.Sys().(syscall.WaitStatus)
	}
	return r
}

// mpiexec runs a program on n ranks with the library preloaded into everything.
func mpiexec(t *testing.T, program string, n int, env ...string) result {
	t.Helper()
	return run(t, append(env, "LD_PRELOAD="+library), "mpiexec.mpich", "-n", fmt.Sprint(n), program)
}

// jobFiles are the pool files of this user in shared memory.
func jobFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(jobFileDir, jobFilePrefix()+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestPrograms(t *testing.T) {
	for _, source := range []string{"p2p.c", "requests.c", "comms.c", "types.c", "threads.c", "fortran.f90"} {
		t.Run(source, func(t *testing.T) {
			program := compile(t, source)
			for _, tc := range []struct {
				n    int
				mode string
			}{{2, "coherent"}, {2, "flush"}, {2, "emulate"}, {4, "coherent"}} {
				t.Run(fmt.Sprintf("%d %s", tc.n, tc.mode), func(t *testing.T) {
					env := []string{"CMPI_REQUIRE=1", "CMPI_COHERENCE=" + tc.mode}
					// The library prints nothing when all is well.
					if r := mpiexec(t, program, tc.n, env...); r.stdout != "ok\n" || r.stderr != "" || r.timedOut {
						t.Errorf("%+v", r)
					}
				})
			}
		})
	}
}

// Whatever is wrong, rank 0 says so in one line and the job runs natively, or
// stops if the library is required.
func TestFallback(t *testing.T) {
	program := compile(t, "hello.c")
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a pool\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, env, want string }{
		{"unknown setting", "CMPI_POL=1", "did you mean CMPI_POOL"},
		{"bad value", "CMPI_COHERENCE=fish", "did you mean"},
		{"text file", "CMPI_POOL=" + text, "not a cMPI pool"},
		{"too small", "CMPI_POOL_SIZE=1M", "pool"},
		{"no such directory", "CMPI_POOL=/no/such/pool", "pool"},
		{"unreadable", "CMPI_POOL=/proc/kcore", "pool"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r := mpiexec(t, program, 2, tc.env)
			if r.stdout != "hello from 2\n" || strings.Count(r.stderr, "\n") != 1 || !strings.HasPrefix(r.stderr, "cmpi: ") ||
				!strings.Contains(r.stderr, tc.want) || !strings.Contains(r.stderr, "running on the host MPI alone") || r.status != 0 {
				t.Errorf("%+v", r)
			}
			r = mpiexec(t, program, 2, tc.env, "CMPI_REQUIRE=1")
			if strings.Contains(r.stdout, "hello") || !strings.Contains(r.stderr, "stopping because CMPI_REQUIRE=1") || r.status == 0 || r.timedOut {
				t.Errorf("required: %+v", r)
			}
		})
	}
	if files := jobFiles(t); len(files) > 0 {
		t.Errorf("left behind: %q", files)
	}
}

func TestDisabled(t *testing.T) {
	program := compile(t, "hello.c")
	r := mpiexec(t, program, 2, "CMPI_DISABLE=1", "CMPI_REQUIRE=1")
	if r.stdout != "hello from 2\n" || r.stderr != "" || r.status != 0 {
		t.Errorf("%+v", r)
	}
}

// A program that crashes, aborts or is killed ends as natively and leaves
// nothing behind.
func TestEnds(t *testing.T) {
	program := compile(t, "ends.c")
	tests := []struct {
		how  string
		want string // what mpiexec says
		code int    // its exit code; 0: any other
	}{
		{"segv", "signal 11", 0},
		{"abort", "signal 6", 0},
		{"kill", "signal 9", 0},
		{"exit", "", 0}, // mpiexec mixes it with how the others end
		// mpiexec ends the job before it has passed on what the rank said, now and
		// then, natively too.
		{"mpi_abort", "", 5},
		{"fatal", "cmpi: rank 0: MPI_Send: Invalid rank", 0},
	}
	for _, tc := range tests {
		t.Run(tc.how, func(t *testing.T) {
			r := run(t, []string{"LD_PRELOAD=" + library}, "mpiexec.mpich", "-n", "2", program, tc.how)
			if r.timedOut || r.status == 0 || !strings.Contains(r.stdout+r.stderr, tc.want) || strings.Contains(r.stderr, "goroutine") ||
				tc.code != 0 && r.status.ExitStatus() != tc.code {
				t.Errorf("%+v", r)
			}
			if files := jobFiles(t); len(files) > 0 {
				t.Errorf("left behind: %q", files)
			}
		})
	}
}

// In a process that never calls MPI_Init the library does nothing.
func TestInert(t *testing.T) {
	r := run(t, []string{"LD_PRELOAD=" + library, "CMPI_NONSENSE=1"}, "sh", "-c", "echo one; echo two >&2; kill -TERM $$")
	if r.stdout != "one\n" || r.stderr != "two\n" || r.status.Signal() != syscall.SIGTERM {
		t.Errorf("%+v", r)
	}
}

// example builds a C example against the library and returns its path.
func example(t *testing.T, source string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "example")
	out, err := exec.Command("gcc", "-Wall", "-Wextra", "-Werror", "-I../c/include", "-o", program, filepath.Join("../c/examples", source),
		"-L"+filepath.Dir(library), "-lcmpi", "-Wl,-rpath,"+filepath.Dir(library)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// Named objects: a reader and a writer.
func TestExampleShm(t *testing.T) {
	program := example(t, "cxl_shm_example.c")
	for _, mode := range []string{"coherent", "flush", "emulate"} {
		t.Run(mode, func(t *testing.T) {
			env := []string{"CMPI_POOL=" + filepath.Join(t.TempDir(), "pool"), "CMPI_POOL_SIZE=64M", "CMPI_COHERENCE=" + mode}
			r := run(t, env, "sh", "-c", `"$1" read & "$1" write "a word" && wait`, "sh", program)
			if r.stdout != "a word\n" || r.stderr != "" || r.status != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A job without an MPI, started by a plain shell loop.
func TestExampleRing(t *testing.T) {
	dir := t.TempDir()
	program := example(t, "cmpi_ring.c")
	for _, mode := range []string{"coherent", "flush", "emulate"} {
		t.Run(mode, func(t *testing.T) {
			pool := filepath.Join(dir, mode)
			loop := `for r in 0 1 2; do CMPI_RANK=$r "$1" & done; wait`
			r := run(t, []string{"CMPI_SIZE=3", "CMPI_POOL=" + pool, "CMPI_POOL_SIZE=64M", "CMPI_COHERENCE=" + mode}, "sh", "-c", loop, "sh", program)
			if r.stdout != "3 ranks, 1000 rounds: token 3000, want 3000\n" || r.stderr != "" {
				t.Errorf("%+v", r)
			}
		})
	}
	// A file whose ranks turn out to be on two hosts isn't taken for coherent memory.
	r := run(t, []string{"CMPI_SIZE=2", "CMPI_POOL=" + filepath.Join(dir, "hosts"), "CMPI_POOL_SIZE=64M"}, "sh", "-c",
		`CMPI_HOST=a CMPI_RANK=0 "$1" & a=$!; CMPI_HOST=b CMPI_RANK=1 "$1"; b=$?; wait $a && test $b = 0`, "sh", program)
	if strings.Count(r.stderr, "CMPI_COHERENCE=flush") != 2 || r.status == 0 || r.stdout != "" {
		t.Errorf("%+v", r)
	}
	r = run(t, []string{"CMPI_SIZE=3", "CMPI_RANK=3"}, program)
	if !strings.Contains(r.stderr, "CMPI_RANK=3 is not below CMPI_SIZE=3") || r.status == 0 {
		t.Errorf("%+v", r)
	}
}
