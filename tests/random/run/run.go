package run

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"cmpi/tests/random/model"
	"cmpi/tests/random/program"
)

// Runner is what all runs need.
type Runner struct {
	Executor string // path of the executor
	Library  string // path of the library, unused in native mode
	// Patience is how long no rank may get on with any operation before the run
	// is taken for hung; DefaultPatience if zero.
	Patience time.Duration
}

// DefaultPatience is many times what an operation takes on a loaded machine.
const DefaultPatience = 30 * time.Second

// Failure is a case that went wrong.
type Failure struct {
	Case     *program.Case
	Kind     Kind
	Problems []string
}

// Kind is how a case fails.
type Kind string

// The kinds. All but Illegal end a run, so that it says nothing of later cases.
const (
	Illegal Kind = "illegal" // the judge says so
	Hang    Kind = "hang"
	Crash   Kind = "crash"
	Output  Kind = "output" // something was printed, though all is well
)

// Error is the failure in one line or some.
func (f *Failure) Error() string {
	s := fmt.Sprintf("case %d, %s", f.Case.Number, f.Kind)
	for _, p := range f.Problems {
		s += "\n  " + p
	}
	return s
}

// Run executes cases and gives those that failed; done is how many were
// executed. The error is about the run as such: something is missing.
func (r *Runner) Run(ctx context.Context, b Batch, cases []*program.Case) (failures []*Failure, done int, err error) {
	dir, err := os.MkdirTemp("/dev/shm", "cmpi-random-")
	if err != nil {
		if dir, err = os.MkdirTemp("", "cmpi-random-"); err != nil {
			return nil, 0, err
		}
	}
	defer os.RemoveAll(dir)
	j, err := r.prepare(dir, b, cases)
	if err != nil {
		return nil, 0, err
	}
	defer j.close()
	if err := j.cmd.Start(); err != nil {
		return nil, 0, err
	}
	end := j.watch(ctx)
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	return j.judge(end)
}

// job is one start of the executor.
type job struct {
	runner *Runner
	batch  Batch
	cases  []*program.Case
	cmd    *exec.Cmd
	output bytes.Buffer // of all ranks; empty if all is well
	logs   []*log
	ended  chan error
}

func (r *Runner) prepare(dir string, b Batch, cases []*program.Case) (*job, error) {
	j := &job{runner: r, batch: b, cases: cases, ended: make(chan error, 1)}
	file := filepath.Join(dir, "cases")
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriter(f)
	run := program.Run{Ranks: b.Ranks, Threads: b.Threads, Level: b.Level, Cases: cases}
	err = errors.Join(run.Write(w), w.Flush(), f.Close())
	if err != nil {
		return nil, fmt.Errorf("writing the cases: %w", err)
	}
	logs := filepath.Join(dir, "log")
	for rank := range b.Ranks {
		n := 1000
		for _, c := range cases {
			n += room(c, rank)
		}
		l, err := newLog(fmt.Sprintf("%s.%d", logs, rank), n)
		if err != nil {
			j.close()
			return nil, err
		}
		j.logs = append(j.logs, l)
	}
	args := []string{"-n", strconv.Itoa(b.Ranks)}
	if b.Mode != Native {
		// Only for the ranks: mpiexec itself stays as it is.
		args = append(args, "-genv", "LD_PRELOAD", r.Library, "-genv", "CMPI_COHERENCE", string(b.Mode), "-genv", "CMPI_REQUIRE", "1")
	}
	j.cmd = exec.Command("mpiexec.mpich", append(args, r.Executor, file, logs)...)
	j.cmd.Env = append(os.Environ(), b.Env...)
	j.cmd.Stdout, j.cmd.Stderr = &j.output, &j.output
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	j.cmd.WaitDelay = time.Second
	return j, nil
}

func (j *job) close() {
	for _, l := range j.logs {
		l.close()
	}
}

// kill ends mpiexec and the ranks.
func (j *job) kill() {
	for _, l := range j.logs {
		if pid := l.pid(); pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = syscall.Kill(-j.cmd.Process.Pid, syscall.SIGKILL)
}

// ending is why a job has ended: kind is empty if all is well.
type ending struct {
	kind Kind
	text string
}

// watch waits for the end of the job.
func (j *job) watch(ctx context.Context) ending {
	go func() { j.ended <- j.cmd.Wait() }()
	patience := j.runner.Patience
	if patience == 0 {
		patience = DefaultPatience
	}
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	var last []int64
	since := time.Now()
	for {
		select {
		case err := <-j.ended:
			text := bytes.TrimSpace(j.output.Bytes())
			switch {
			case err != nil:
				return ending{Crash, fmt.Sprintf("mpiexec: %v\n%s", err, text)}
			case len(text) > 0 && j.batch.Mode != Native: // MPICH says that it leaks
				return ending{Output, string(text)}
			}
			return ending{}
		case <-ctx.Done():
			j.kill()
			<-j.ended
			return ending{}
		case <-look.C:
			if now := j.progress(); !equal(now, last) {
				last, since = now, time.Now()
			} else if time.Since(since) > patience {
				where := j.where()
				j.kill()
				<-j.ended
				return ending{Hang, fmt.Sprintf("nothing has moved for %v%s\n%s", patience, where, bytes.TrimSpace(j.output.Bytes()))}
			}
		}
	}
}

// progress is what changes as long as ranks get on.
func (j *job) progress() (words []int64) {
	for _, l := range j.logs {
		for i := range 3 + logThreads {
			words = append(words, l.word(i))
		}
	}
	return words
}

func equal(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// where says which operation each thread is in.
func (j *job) where() (s string) {
	for rank, l := range j.logs {
		n := l.running()
		if n < 0 || n >= len(j.cases) {
			s += fmt.Sprintf("\n    rank %d: not in any case", rank)
			continue
		}
		c := j.cases[n]
		s += fmt.Sprintf("\n    rank %d: case %d", rank, c.Number)
		lists := append([][]program.Op{c.Epilogue[rank]}, c.Threads[rank]...)
		for i, ops := range lists {
			thread, at := i-1, l.at(i-1)
			switch name := fmt.Sprintf("thread %d", thread); {
			case thread == program.EpilogueThread && at >= len(ops):
				s += ", at its end"
			case at >= 0 && at < len(ops):
				if thread == program.EpilogueThread {
					name = "at the end"
				}
				s += fmt.Sprintf(", %s, %d: %s", name, at, c.Describe(&ops[at]))
			}
		}
	}
	return s
}

// judge finds the cases that failed.
func (j *job) judge(end ending) (failures []*Failure, done int, err error) {
	var byRank [][][]model.Record
	done = len(j.cases)
	for _, l := range j.logs {
		byCase, err := l.records(len(j.cases))
		if err != nil {
			return nil, 0, err
		}
		byRank = append(byRank, byCase)
		if end.kind != "" {
			done = min(done, max(l.running(), 0))
		}
	}
	for i, c := range j.cases[:done] {
		observed := make([][]model.Record, j.batch.Ranks)
		for rank := range observed {
			observed[rank] = byRank[rank][i]
		}
		if problems := model.Check(c, observed, model.Options{Host: j.batch.Mode == Native}); len(problems) > 0 {
			failures = append(failures, &Failure{Case: c, Kind: Illegal, Problems: problems})
		}
	}
	if end.kind != "" {
		if !j.started() {
			return nil, 0, fmt.Errorf("%v: the executor did not start: %s", j.batch, end.text)
		}
		failures = append(failures, &Failure{Case: j.cases[min(done, len(j.cases)-1)], Kind: end.kind, Problems: []string{end.text}})
		return failures, min(done+1, len(j.cases)), nil
	}
	return failures, done, nil
}

// started reports whether any rank came as far as its first case.
func (j *job) started() bool {
	for _, l := range j.logs {
		if l.running() >= 0 {
			return true
		}
	}
	return false
}
