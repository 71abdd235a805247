package hosts

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cmpi/settings"
	"cmpi/tests/hosts/lab"
	"cmpi/tests/job"
)

// A fault must not leave anybody waiting: all ranks that are left end, and so
// does mpiexec unless it can't know.
const (
	// hangLimit is when a survivor counts as hanging. Those that are told, by a
	// closed connection, end within a fraction of a second.
	hangLimit = 60 * time.Second
	// silentLimit is for faults of which nobody is told: the library itself must
	// find out, and as fast.
	silentLimit = 10 * time.Second
	// deadAfter is the library's setting of how soon.
	deadAfter = "CMPI_DEAD_AFTER"
	// startLimit is for the start of the program.
	startLimit = 30 * time.Second
)

// endless is a run of src/endless.c.
type endless struct {
	lab     *lab.Lab
	mpiexec *exec.Cmd
	out     said
	ended   chan struct{}
}

// buildEndless builds the program where hosts see it.
func buildEndless(t *testing.T) string {
	t.Helper()
	job.Require(t, job.Mpiexec, "mpicc.mpich")
	path := filepath.Join(root(t), "build/out/programs/endless")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("mpicc.mpich", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", path, "src/endless.c").CombinedOutput()
	if err != nil {
		t.Fatalf("mpicc: %v\n%s", err, out)
	}
	return path
}

// startEndless returns when all ranks are at work, one in each host.
func startEndless(t *testing.T, l *lab.Lab, path, what string, mode job.Mode, env ...string) *endless {
	t.Helper()
	j := inLab(l, job.Job{Program: []string{path, what, "300"}, Ranks: len(l.Hosts), Mode: mode, Env: env})
	args, err := j.Args()
	if err != nil {
		t.Fatal(err)
	}
	e := &endless{lab: l, mpiexec: exec.Command(j.Mpiexec, args...), ended: make(chan struct{})}
	started := make(chan struct{})
	e.out.text, e.out.seen = "started\n", started
	e.mpiexec.Stdout, e.mpiexec.Stderr = &e.out, &e.out
	e.mpiexec.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	e.mpiexec.WaitDelay = time.Second
	if err := e.mpiexec.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = e.mpiexec.Wait() // it ends badly, that's what it is for
		close(e.ended)
	}()
	t.Cleanup(func() { e.kill() })
	select {
	case <-started:
	case <-e.ended:
		t.Fatalf("%v ended:\n%s", j, e.out.String())
	case <-time.After(startLimit):
		t.Fatalf("%v did not start:\n%s", j, e.out.String())
	}
	if !strings.Contains(e.out.String(), carried(l, j)) {
		t.Fatalf("%v: the library does not carry it:\n%s", j, e.out.String())
	}
	return e
}

// kill ends mpiexec with its launchers.
func (e *endless) kill() {
	_ = syscall.Kill(-e.mpiexec.Process.Pid, syscall.SIGKILL) // it may have ended
	<-e.ended
}

// said is what a program has printed so far; seen is closed when a text came.
type said struct {
	mu   sync.Mutex
	all  bytes.Buffer
	text string
	seen chan struct{}
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.all.Write(p)
	if s.seen != nil && strings.Contains(s.all.String(), s.text) {
		close(s.seen)
		s.seen = nil
	}
	return n, err
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// ranks are the pids of the program in a host, of this process's namespace.
func (e *endless) ranks(t *testing.T, host string) []int {
	t.Helper()
	var pids []int
	processes, err := e.lab.Processes(host)
	if err != nil {
		t.Fatal(err)
	}
	for pid, name := range processes {
		if name == "endless" {
			pids = append(pids, pid)
		}
	}
	return pids
}

// survived waits until no rank is left in the hosts; an error says where one is.
func (e *endless) survived(t *testing.T, limit time.Duration, hosts ...string) error {
	t.Helper()
	deadline := time.Now().Add(limit)
	for _, h := range hosts {
		for len(e.ranks(t, h)) > 0 {
			if time.Now().After(deadline) {
				return fmt.Errorf("the rank in %s is still there %v after the fault:\n%s", h, limit, e.out.String())
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}

// fault is something that happens to host h2 or to mpiexec.
type fault struct {
	name   string
	quick  []string // what the ranks do in the ordinary run
	do     func(t *testing.T, e *endless)
	silent bool // nobody is told
	host   bool // h2 is off afterwards
	killed bool // mpiexec is gone
}

var faults = []fault{
	{name: "rank killed", quick: []string{"p2p"}, do: func(t *testing.T, e *endless) {
		pids := e.ranks(t, "h2")
		if len(pids) != 1 {
			t.Fatalf("%d ranks in h2", len(pids))
		}
		if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}},
	{name: "host killed", quick: []string{"rma"}, host: true, do: func(t *testing.T, e *endless) {
		if err := e.lab.Kill("h2"); err != nil {
			t.Fatal(err)
		}
	}},
	{name: "launcher killed", quick: []string{"p2p"}, killed: true, do: func(t *testing.T, e *endless) {
		// mpiexec alone, not the launchers to the hosts: their ends of the
		// connections stay.
		if err := e.mpiexec.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}},
	{name: "power cut", quick: []string{"p2p", "rma"}, silent: true, host: true, do: func(t *testing.T, e *endless) {
		if err := e.lab.Cut(t.Context(), "h2"); err != nil {
			t.Fatal(err)
		}
		if err := e.lab.Kill("h2"); err != nil {
			t.Fatal(err)
		}
	}},
}

// TestFaults: nobody waits for ever, and the pool can be used again.
func TestFaults(t *testing.T) {
	job.Library(t)
	path := buildEndless(t)
	dir := buildPrograms(t, "ring", "rma_hash")
	for _, f := range faults {
		whats, tried := f.quick, []job.Mode{job.Flush}
		if *full {
			whats, tried = []string{"p2p", "rma", "fence", "wait"}, modes
		}
		for _, what := range whats {
			for _, mode := range tried {
				t.Run(strings.Join([]string{f.name, what, string(mode)}, "/"), func(t *testing.T) {
					var env []string
					if f.silent {
						if !slices.Contains(settings.Names(), deadAfter) {
							t.Skipf("the library has no %s: it doesn't notice a host that vanishes without a word", deadAfter)
						}
						env = append(env, deadAfter+"="+(silentLimit/2).String())
					}
					l := newLab(t, 3)
					e := startEndless(t, l, path, what, mode, env...)
					f.do(t, e)
					limit := hangLimit
					if f.silent {
						limit = silentLimit
					}
					start := time.Now()
					survivors := []string{"h1", "h3"}
					if !f.host {
						survivors = append(survivors, "h2")
					}
					if err := e.survived(t, limit, survivors...); err != nil {
						t.Error(err)
					}
					t.Logf("the survivors ended after %.2f s", time.Since(start).Seconds())
					if !f.silent && !f.killed {
						select {
						case <-e.ended:
						case <-time.After(hangLimit):
							t.Error("mpiexec is still there")
						}
					}
					e.kill()
					if f.host {
						if err := l.Restart(t.Context(), "h2"); err != nil {
							t.Fatal(err)
						}
					}
					for _, name := range []string{"ring", "rma_hash"} {
						checkVerified(t, l, inLab(l, job.Job{Program: []string{filepath.Join(dir, name)}, Ranks: 3, Mode: mode}))
					}
					if !f.host { // what a host leaves that never comes back, others don't free
						checkClean(t, l)
					}
				})
			}
		}
	}
}
