package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"cmpi/tests/remains"
)

// longRanks is the number of ranks of the long job, half of them on each host.
const longRanks = 4

// roundLimit is for one round, normally some 0.2 s, on a loaded machine beside a
// host that has died holding the pool lock.
const roundLimit = 2 * time.Minute

// long is the job that runs all the time.
type long struct {
	cmd    *exec.Cmd
	pids   []int
	rounds atomic.Int64
	resting,
	released chan struct{} // hand-over of the rest between two rounds
	ending chan struct{} // closed: no more rounds
	done   chan struct{} // closed when it has ended
	err    error         // how, valid then
	stderr bytes.Buffer  // valid then

	mu   sync.Mutex
	seen [][]process // at the ends of rounds, since the last sample
}

// build compiles the long job's program, beside those of the short jobs.
func build(programs string) (string, error) {
	program := filepath.Join(filepath.Dir(programs), "soak", "soak")
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return "", err
	}
	// A half-written program must not look finished: build aside, then move.
	made := fmt.Sprintf("%s.%d", program, os.Getpid())
	// MPICH's MPI_STATUSES_IGNORE is the address 1, which GCC takes for an overflow.
	out, err := exec.Command("mpicc.mpich", "-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow",
		"-o", made, "tests/soak/src/soak.c").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("mpicc.mpich: %w\n%s", err, out)
	}
	return program, os.Rename(made, program)
}

// startLong starts the long job and waits until its ranks have come together.
func startLong(c *config, tmp string) (*long, error) {
	program, err := build(c.Programs)
	if err != nil {
		return nil, err
	}
	command := []string{program, "seed=" + strconv.FormatUint(c.Seed, 10), "leak=" + strconv.Itoa(c.Leak), fmt.Sprintf("rest=%d", c.Rest.Milliseconds())}
	env := []string{"TMPDIR=" + tmp}
	if c.Stats {
		env = append(env, "CMPI_STATS=1")
	}
	l := &long{resting: make(chan struct{}), released: make(chan struct{}), ending: make(chan struct{}), done: make(chan struct{})}
	l.cmd = mpiexec(c, "flush", [2]int{longRanks / 2, longRanks / 2}, command, env)
	l.cmd.Stderr = &l.stderr
	stdin, err := l.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	met := make(chan struct{})
	go l.lead(stdin, stdout, met)
	select {
	case <-met:
		return l, nil
	case <-l.done:
		return nil, l.err
	case <-time.After(roundLimit):
		l.kill()
		return nil, fmt.Errorf("the long job did not start within %v", roundLimit)
	}
}

// mpiexec is a job with so many ranks on the hosts a and b; all on this kernel as
// one host if b has none.
func mpiexec(c *config, mode string, ranks [2]int, command, env []string) *exec.Cmd {
	args := []string{"-genv", "LD_PRELOAD", c.Library, "-genv", "CMPI_POOL", c.Pool, "-genv", "CMPI_REQUIRE", "1", "-genv", "CMPI_COHERENCE", mode}
	for i, n := range ranks {
		if n == 0 {
			continue
		}
		if i > 0 {
			args = append(args, ":")
		}
		args = append(args, "-n", strconv.Itoa(n))
		if ranks[1] > 0 {
			args = append(args, "-env", "CMPI_HOST", hostNames[i])
		}
		args = append(args, command...)
	}
	cmd := exec.Command("mpiexec.mpich", args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	return cmd
}

// lead reads what the job says, answers, and takes note of its end.
func (l *long) lead(stdin io.WriteCloser, stdout io.Reader, met chan<- struct{}) {
	var rest []string // what it says that isn't known
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		word, list, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "ranks":
			for _, field := range strings.Fields(list) {
				pid, _ := strconv.Atoi(field)
				l.pids = append(l.pids, pid)
			}
			close(met)
		case "round":
			l.rounds.Add(1)
			l.look()
			if _, err := io.WriteString(stdin, l.answer()); err != nil {
				rest = append(rest, err.Error())
			}
		default:
			rest = append(rest, lines.Text())
		}
	}
	err := l.cmd.Wait()
	said := strings.Join(rest, "\n")
	if err != nil || said != "OK soak" {
		l.err = fmt.Errorf("the long job ended after %d rounds: %v\n%s\n%s", l.rounds.Load(), err, said, &l.stderr)
	}
	close(l.done)
}

// look takes note of what the ranks have at the end of a round. A rank that has
// died meanwhile is told by the end of its job.
func (l *long) look() {
	var ranks []process
	for _, pid := range l.pids {
		p, err := lookAt(pid)
		if err != nil {
			return
		}
		ranks = append(ranks, p)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, ranks)
}

// answer is what the job is told when it has made a round. Whoever waits for the
// rest of its ranks has it first.
func (l *long) answer() string {
	select {
	case l.resting <- struct{}{}:
		<-l.released
	case <-l.ending:
		return "end\n"
	default:
	}
	return "go\n"
}

// ranks gives the least that the ranks had at the ends of the rounds since it was
// asked last: where a garbage collector works, that wanders far less than the
// median, and a leak raises it as much.
func (l *long) ranks() (list []process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for r := range l.pids {
		p := process{PID: l.pids[r]}
		for i, round := range l.seen {
			for _, field := range fields {
				if to, value := field(&p), *field(&round[r]); i == 0 || value < *to {
					*to = value
				}
			}
		}
		list = append(list, p)
	}
	l.seen = nil
	return list
}

// rest waits for the end of a round. All ranks are at rest until release is
// called.
func (l *long) rest(ctx context.Context) (release func(), err error) {
	select {
	case <-l.resting:
		return func() { l.released <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, errors.New("interrupted")
	case <-l.done:
		return nil, l.failed()
	case <-time.After(roundLimit):
		return nil, fmt.Errorf("the long job did not end round %d within %v", l.rounds.Load()+1, roundLimit)
	}
}

// failed is why the long job has ended before its time; nil if it has not.
func (l *long) failed() error {
	select {
	case <-l.done:
		if l.err == nil {
			return errors.New("the long job ended by itself")
		}
		return l.err
	default:
		return nil
	}
}

// summary is the library's last line where small and large messages were sent.
var summary = regexp.MustCompile(`\(eager \S+, .*staged `)

// end lets the job end. It may have said nothing but its counters.
func (l *long) end(stats bool) error {
	close(l.ending)
	select {
	case <-l.done:
	case <-time.After(roundLimit):
		return fmt.Errorf("the long job did not end within %v of being told to", roundLimit)
	}
	if l.err != nil {
		return l.err
	}
	said := l.stderr.String()
	switch {
	case stats && !summary.MatchString(said):
		return fmt.Errorf("the long job did not count small and large messages: %q", said)
	case stats:
		fmt.Print(said)
	case said != "":
		return fmt.Errorf("the long job said: %q", said)
	}
	return nil
}

// kill ends whatever is left of the job.
func (l *long) kill() {
	select {
	case <-l.done:
		return
	default:
	}
	ranks := remains.Descendants(l.cmd.Process.Pid, "soak")
	_ = syscall.Kill(-l.cmd.Process.Pid, syscall.SIGKILL)
	for _, pid := range ranks {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	select { // lead may stand at a round's end
	case <-l.done:
	case <-time.After(time.Second):
	}
}
