package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"cmpi/tests/remains"
)

// hostNames are the hosts that jobs run as: two by name, and this kernel.
var hostNames = []string{"a", "b", ""}

const (
	jobLimit = 2 * time.Minute        // for a short job that nobody kills; normally about a second
	endLimit = time.Minute            // for the launcher and the ranks after a kill; normally some 0.1 s
	longest  = 800 * time.Millisecond // before a kill
)

// Programs of the short jobs, with what makes them last about a second.
var programs = [][]string{
	{"ring"},
	{"halo"},
	{"masterworker"},
	{"traffic", "rounds=4"},
	{"large", "bytes=16000000"},
	{"requests"},
	{"communicators"},
	{"threads"},
	{"partitioned", "often=200"},
	{"rma_hash"},
	{"rma_queue"},
	{"rma_halo"},
	{"rma_shared"},
	{"rma_windows", "windows=40"},
}

// emulated are what programs get besides in mode emulate, where each byte takes
// many times as long.
var emulated = map[string][]string{
	"traffic":     {"bytes=400000", "volume=600000"},
	"large":       {"bytes=4000000"},
	"partitioned": {"unit=100"},
	"rma_windows": {"windows=5", "bytes=100000"},
}

// short is a job of a second.
type short struct {
	program []string
	mode    string
	ranks   [2]int        // on each host; all on one host if the second has none
	victim  string        // "": nobody is killed; "rank", "host", "launcher"
	after   time.Duration // of the kill
	which   int           // of the ranks
}

func (j *short) String() string {
	s := fmt.Sprintf("%s, mode %s, %d ranks on one host", strings.Join(j.program, " "), j.mode, j.ranks[0])
	if j.ranks[1] > 0 {
		s = fmt.Sprintf("%s, mode %s, %d and %d ranks on two hosts", strings.Join(j.program, " "), j.mode, j.ranks[0], j.ranks[1])
	}
	if j.victim != "" {
		s += fmt.Sprintf(", %s killed after %v", j.victim, j.after)
	}
	return s
}

func drawShort(r *rand.Rand) *short {
	j := &short{program: programs[r.IntN(len(programs))], mode: []string{"coherent", "flush", "emulate"}[r.IntN(3)]}
	if j.mode == "emulate" {
		// Of two settings of a name the first counts.
		j.program = append([]string{j.program[0]}, append(emulated[j.program[0]], j.program[1:]...)...)
	}
	n := 2 + r.IntN(3)
	j.ranks[1] = r.IntN(2) * (n / 2)
	j.ranks[0] = n - j.ranks[1]
	// A rank is the likeliest to die.
	j.victim = []string{"", "", "", "rank", "rank", "rank", "host", "launcher"}[r.IntN(8)]
	j.after = time.Duration(r.Int64N(int64(longest)))
	j.which = r.IntN(n)
	return j
}

// runShort runs the job to its end, kills what it says, and sees that it ends.
func (s *soak) runShort(j *short) error {
	name := j.program[0]
	command := append([]string{filepath.Join(s.Programs, name)}, j.program[1:]...)
	cmd := mpiexec(&s.config, j.mode, j.ranks, command, []string{"TMPDIR=" + s.tmp})
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	limit, kill := time.After(jobLimit), (<-chan time.Time)(nil)
	if j.victim != "" {
		kill = time.After(j.after)
	}
	killed := time.Time{}
	var err error
wait:
	for {
		select {
		case err = <-done:
			break wait
		case <-kill:
			if j.kill(cmd.Process.Pid) {
				killed, limit = time.Now(), time.After(endLimit)
			}
		case <-limit:
			for _, pid := range remains.Descendants(cmd.Process.Pid, name) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-done
			if killed.IsZero() {
				return fmt.Errorf("not finished within %v:\n%s", jobLimit, &out)
			}
			return fmt.Errorf("did not end within %v of the kill:\n%s", endLimit, &out)
		}
	}
	// Without their launcher the ranks are on their own.
	if left := remains.WithPool(s.Pool, s.long.pids, endLimit); len(left) > 0 {
		return fmt.Errorf("processes %v have outlived their job for %v", left, endLimit)
	}
	s.counts.Jobs++
	s.counts.Modes[j.mode]++
	if !killed.IsZero() {
		s.counts.Killed[j.victim]++
		s.counts.Slowest = max(s.counts.Slowest, time.Since(killed))
	} else if err != nil || strings.TrimSpace(out.String()) != "OK "+name {
		return fmt.Errorf("%v:\n%s", err, &out)
	}
	return nil
}

// kill kills the victim; false if it was too late.
func (j *short) kill(launcher int) (killed bool) {
	victims := remains.Descendants(launcher, j.program[0])
	switch j.victim {
	case "launcher":
		victims = []int{launcher}
	case "host":
		if j.ranks[1] > 0 {
			victims = slices.DeleteFunc(victims, func(pid int) bool { return !on(pid, hostNames[1]) })
		}
	default:
		if len(victims) > 0 {
			victims = victims[j.which%len(victims):][:1]
		}
	}
	for _, pid := range victims {
		killed = syscall.Kill(pid, syscall.SIGKILL) == nil || killed
	}
	return killed
}

// on says whether a process belongs to the named host.
func on(pid int, host string) bool {
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return slices.Contains(strings.Split(string(environ), "\x00"), "CMPI_HOST="+host)
}
