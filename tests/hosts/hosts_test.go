package hosts

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cmpi/arena"
	"cmpi/flush"
	"cmpi/tests/hosts/lab"
	"cmpi/tests/job"
)

var full = flag.Bool("full", false, "run every program in every mode, and the long faults")

// modes are the coherence modes for several hosts that need no device.
var modes = []job.Mode{job.Flush, job.Emulate}

// root is the project's folder.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// labs counts the labs of this process, for their names.
var labs struct {
	sync.Mutex
	n int
}

// newLab makes a lab that the test takes down. The test is skipped where none
// can be made.
func newLab(t *testing.T, hosts int) *lab.Lab {
	t.Helper()
	labs.Lock()
	labs.n++
	name := fmt.Sprintf("test-%d-%d", os.Getpid(), labs.n)
	labs.Unlock()
	l, err := lab.Up(t.Context(), lab.Config{Name: name, Hosts: hosts, Keep: []string{root(t)}})
	if errors.Is(err, lab.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// buildPrograms builds those of tests/programs and returns their folder.
func buildPrograms(t *testing.T, names ...string) string {
	t.Helper()
	job.Require(t, job.Mpiexec, "mpicc.mpich", "mpif90.mpich")
	if out, err := exec.Command("../programs/build.sh", names...).CombinedOutput(); err != nil {
		t.Fatalf("build.sh: %v\n%s", err, out)
	}
	return filepath.Join(root(t), "build/out/programs")
}

// inLab makes a job one of the lab, whose library says what it carries.
func inLab(l *lab.Lab, j job.Job) job.Job {
	j.Mpiexec, j.Before = l.Mpiexec(), []string{l.FinalizeFix()}
	if j.Mode != job.Native {
		j.Env = append(slices.Clip(j.Env), "CMPI_VERBOSE=1")
	}
	return j
}

// carried is the line of a library that carries a job over the lab's pool.
func carried(l *lab.Lab, j job.Job) string {
	return fmt.Sprintf("cmpi: %d ranks over %s (%d MiB), %s mode\n", j.Ranks, l.Hosts[0].Pool, lab.DefaultPoolSize>>20, j.Mode)
}

// checkVerified is for programs of tests/programs: all bytes were right, and the
// pool carried them.
func checkVerified(t *testing.T, l *lab.Lab, j job.Job) {
	t.Helper()
	r := j.Run()
	want := job.Result{Stdout: "OK " + filepath.Base(j.Program[0]) + "\n"}
	if j.Mode != job.Native {
		want.Stderr = carried(l, j)
	}
	if !r.OK() || r.Stdout != want.Stdout || r.Stderr != want.Stderr {
		t.Errorf("%v: %v", j, r)
	}
}

// checkClean fails unless the pool is sound and holds nothing.
func checkClean(t *testing.T, l *lab.Lab) {
	t.Helper()
	pool, err := arena.Open(arena.Config{Path: l.Pool, Mode: flush.Flush})
	if err != nil {
		t.Error(err)
		return
	}
	defer pool.Close()
	objects, err := pool.List()
	if err != nil || len(objects) > 0 {
		t.Errorf("%d objects left in the pool, error %v: %+v", len(objects), err, objects)
	}
	if report, err := pool.Check(); err != nil || len(report.Findings) > 0 {
		t.Errorf("the pool: error %v, %+v", err, report)
	}
}

// TestHosts: ranks in two hosts see two kernels, host names and pools.
func TestHosts(t *testing.T) {
	l := newLab(t, 2)
	r := inLab(l, job.Job{Ranks: 2, Mode: job.Native, Program: []string{"sh", "-c",
		"echo $(hostname) $(cat /proc/sys/kernel/random/boot_id) $CMPI_POOL $(readlink /proc/self/ns/ipc) $(ls /dev/shm | wc -l)"}}).Run()
	lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
	if !r.OK() || len(lines) != 2 {
		t.Fatal(r)
	}
	slices.Sort(lines)
	h1, h2 := strings.Fields(lines[0]), strings.Fields(lines[1])
	if len(h1) != 5 || len(h2) != 5 || h1[0] != "h1" || h2[0] != "h2" || h1[4] != "0" || h2[4] != "0" {
		t.Fatal(r)
	}
	for i, what := range []string{"host name", "boot id", "pool", "ipc namespace"} {
		if h1[i] == h2[i] {
			t.Errorf("both hosts have the %s %s", what, h1[i])
		}
	}
}

// program is one of tests/programs.
type program struct {
	name  string
	quick int // in the ordinary run on up to so many hosts
	args  map[job.Mode][]string
}

var programs = []program{
	{name: "ring", quick: 4},
	{name: "halo", quick: 2},
	{name: "masterworker", quick: 4},
	{name: "traffic", quick: 4, args: map[job.Mode][]string{job.Emulate: {"bytes=400000", "volume=600000"}}},
	{name: "large", args: map[job.Mode][]string{job.Emulate: {"bytes=4000000"}}},
	{name: "self"},
	{name: "requests"},
	{name: "datatypes", quick: 2},
	{name: "communicators", quick: 2},
	{name: "errors"},
	{name: "progress"},
	{name: "independent"},
	{name: "threads"},
	{name: "partitioned", quick: 2, args: map[job.Mode][]string{job.Emulate: {"unit=100", "often=300"}}},
	{name: "leak"},
	{name: "fortran_mpif"},
	{name: "fortran_mpi"},
	{name: "fortran_f08"},
	{name: "rma_halo", quick: 2},
	{name: "rma_hash", quick: 4},
	{name: "rma_counter", quick: 2},
	{name: "rma_queue", quick: 2},
	{name: "rma_types"},
	{name: "rma_ops"},
	{name: "rma_shared", quick: 2},
	{name: "rma_errors"},
	{name: "rma_windows", args: map[job.Mode][]string{job.Emulate: {"windows=5", "bytes=100000"}}},
	{name: "rma_fortran"},
}

// TestPrograms runs the programs between two and four hosts, one after the other
// on one pool, which is empty after each.
func TestPrograms(t *testing.T) {
	job.Library(t)
	var names []string
	for _, p := range programs {
		if p.quick > 0 || *full {
			names = append(names, p.name)
		}
	}
	dir := buildPrograms(t, names...)
	for _, hosts := range []int{2, 4} {
		t.Run(fmt.Sprintf("%d hosts", hosts), func(t *testing.T) {
			l := newLab(t, hosts)
			for _, p := range programs {
				if p.quick < hosts && !*full {
					continue
				}
				for _, mode := range modes {
					t.Run(fmt.Sprintf("%s/%s", p.name, mode), func(t *testing.T) {
						checkVerified(t, l, inLab(l, job.Job{
							Program: append([]string{filepath.Join(dir, p.name)}, p.args[mode]...),
							Ranks:   hosts, Mode: mode,
						}))
						checkClean(t, l)
					})
				}
			}
		})
	}
}

// TestAuto: without a word about coherence hosts are taken for what they are.
// Two ranks of a host are in one coherence domain, those of others are not.
func TestAuto(t *testing.T) {
	job.Library(t)
	dir := buildPrograms(t, "ring", "rma_counter")
	l := newLab(t, 2)
	for _, name := range []string{"ring", "rma_counter"} {
		j := inLab(l, job.Job{Program: []string{filepath.Join(dir, name)}, Ranks: 4, Mode: "auto"})
		r := j.Run()
		j.Mode = job.Flush
		if !r.OK() || r.Stdout != "OK "+name+"\n" || r.Stderr != carried(l, j) {
			t.Errorf("%v: %v", j, r)
		}
		checkClean(t, l)
	}
}

// TestTwoJobs runs two jobs at once on one pool.
func TestTwoJobs(t *testing.T) {
	job.Library(t)
	names := []string{"traffic", "rma_hash"}
	dir := buildPrograms(t, names...)
	l := newLab(t, 2)
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			var jobs sync.WaitGroup
			for _, name := range names {
				jobs.Go(func() {
					for range 3 {
						checkVerified(t, l, inLab(l, job.Job{Program: []string{filepath.Join(dir, name)}, Ranks: 2, Mode: mode}))
					}
				})
			}
			jobs.Wait()
			checkClean(t, l)
		})
	}
}

// TestNetworkStaysIdle: what a program sends goes over the network natively, and
// not over the library.
func TestNetworkStaysIdle(t *testing.T) {
	job.Library(t)
	dir := buildPrograms(t, "large")
	l := newLab(t, 2)
	const each, messages = 4 << 20, 12 // as the program says: six phases, both ways
	for _, tc := range []struct {
		mode        job.Mode
		least, most int64
	}{
		{job.Native, each * messages / 2, each * messages * 2},
		{job.Flush, 0, each / 4}, // starting and ending need the network
		{job.Emulate, 0, each / 4},
	} {
		before := received(t, l)
		checkVerified(t, l, inLab(l, job.Job{Program: []string{filepath.Join(dir, "large"), "bytes=" + strconv.Itoa(each)}, Ranks: 2, Mode: tc.mode}))
		if n := received(t, l) - before; n < tc.least || n > tc.most {
			t.Errorf("%s: host h2 received %d bytes from the network, want %d to %d", tc.mode, n, tc.least, tc.most)
		}
	}
}

// received is what host h2 has received from the network, bytes.
func received(t *testing.T, l *lab.Lab) int64 {
	t.Helper()
	out, err := l.Command(t.Context(), "h2", "cat", "/sys/class/net/eth0/statistics/rx_bytes").Output()
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(out)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPools: what the library says when the hosts don't share a pool.
func TestPools(t *testing.T) {
	library := job.Library(t)
	dir := buildPrograms(t, "ring")
	l := newLab(t, 2)
	for _, tc := range []struct {
		name, shell, want string // shell is run by each rank before the program
	}{
		{"none", "unset CMPI_POOL",
			"cmpi: the ranks run on several hosts and there is no pool that they share; name it by CMPI_POOL; running on the host MPI alone\n"},
		{"two", "test $(hostname) = h1 || export CMPI_POOL=/tmp/other",
			"cmpi: rank 1: pool /tmp/other: pool does not exist; "},
		{"not on h2", "test $(hostname) = h1 || mount --bind /dev/null $CMPI_POOL",
			"cmpi: rank 1: pool /srv/h2/pool: cannot be used as a pool"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			j := inLab(l, job.Job{Ranks: 2, Mode: job.Native, Program: []string{"sh", "-c",
				tc.shell + "; LD_PRELOAD=" + library + " exec " + filepath.Join(dir, "ring")}})
			r := j.Run()
			if !r.OK() || r.Stdout != "OK ring\n" || !strings.HasPrefix(r.Stderr, tc.want) || strings.Count(r.Stderr, "\n") != 1 {
				t.Errorf("%v: %v\nwant on stderr: %s", j, r, tc.want)
			}
		})
	}
}

// TestSweep: a lab whose maker has ended without a word is taken down by the
// next; one that is in use isn't.
func TestSweep(t *testing.T) {
	l := newLab(t, 1)
	name := fmt.Sprintf("test-%d-left", os.Getpid())
	left, err := lab.Up(t.Context(), lab.Config{Name: name, Hosts: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lab.Down(name) }) // gone already if all is well
	state := filepath.Join(lab.Dir, name, "lab.json")
	text, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	// As if another process had made it, with our number, before us.
	text = bytes.Replace(text, fmt.Appendf(nil, `"start": %d`, left.Owner.Start), []byte(`"start": 1`), 1)
	if err := os.WriteFile(state, text, 0o644); err != nil {
		t.Fatal(err)
	}
	swept, err := lab.Sweep()
	if err != nil || !slices.Contains(swept, name) || slices.Contains(swept, l.Name) {
		t.Errorf("swept %v, error %v", swept, err)
	}
	for _, path := range []string{filepath.Join(lab.Dir, name), left.Pool} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there (%v)", path, err)
		}
	}
	if left.Head.Alive() || left.Hosts[0].Up() || !l.Hosts[0].Up() {
		t.Errorf("running: the leftover's head %v, its host %v, ours %v", left.Head.Alive(), left.Hosts[0].Up(), l.Hosts[0].Up())
	}
	if err := lab.Down(name); err != nil {
		t.Errorf("taking down what is down: %v", err)
	}
}
