// Package process tells processes apart, finds those that a run has started, by a
// variable in their environment, and ends them.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a process that can be told from a later one of the same number.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since boot
}

// Of records a process that runs now.
func Of(pid int) (Process, error) {
	start, state, err := stat(pid)
	if err != nil || state == 'Z' {
		return Process{}, fmt.Errorf("process %d has ended", pid)
	}
	return Process{pid, start}, nil
}

// Alive says whether the process still runs; a zombie doesn't.
func (p Process) Alive() bool {
	if p.PID == 0 {
		return false
	}
	start, state, err := stat(p.PID)
	return err == nil && state != 'Z' && start == p.Start
}

// Kill ends the process, if it is still that one.
func (p Process) Kill() {
	if p.Alive() {
		_ = unix.Kill(p.PID, unix.SIGKILL) // it may have ended by itself
	}
}

// stat reads fields 3 and 22 of /proc/PID/stat. They are counted from behind the
// name, which is in parentheses and may hold anything.
func stat(pid int) (start uint64, state byte, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) < 20 {
		return 0, 0, fmt.Errorf("/proc/%d/stat: not understood", pid)
	}
	start, err = strconv.ParseUint(f[19], 10, 64)
	return start, f[0][0], err
}

// Marked finds the processes that carry a variable in their environment, by its
// value; not the caller. Known is false while some process can't be told: one
// that starts another program has no environment for a moment.
func Marked(variable string) (found map[string][]Process, known bool) {
	found, known = map[string][]Process{}, true
	environs, _ := filepath.Glob("/proc/[0-9]*/environ") // a well-formed pattern
	for _, path := range environs {
		pid, err := strconv.Atoi(strings.Split(path, "/")[2])
		if err != nil || pid == os.Getpid() {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		if len(text) == 0 && starting(pid) {
			known = false
		}
		for _, kv := range bytes.Split(text, []byte{0}) {
			value, ok := bytes.CutPrefix(kv, []byte(variable+"="))
			if !ok {
				continue
			}
			if p, err := Of(pid); err == nil {
				found[string(value)] = append(found[string(value)], p)
			}
		}
	}
	return found, known
}

// starting says that a process without an environment is about to get one: it
// has a program, but not yet the arguments. A kernel's thread and a process that
// has ended have no program.
func starting(pid int) bool {
	if _, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil {
		return false
	}
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && len(args) == 0
}

// ErrStillThere says that killed processes have not ended in time.
var ErrStillThere = errors.New("processes have been killed but don't end")

// EndMarked kills all processes that carry a variable with this value, and those
// that they start meanwhile, and waits until they are gone, as long as limit.
func EndMarked(variable, value string, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for {
		found, known := Marked(variable)
		left := found[value]
		if len(left) == 0 && known {
			return nil
		}
		for _, p := range left {
			p.Kill()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w within %v: %d with %s=%s", ErrStillThere, limit, len(left), variable, value)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
