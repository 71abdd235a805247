package lab

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

// processOf records a process that runs now.
func processOf(pid int) (Process, error) {
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

// kill ends the process, if it is still that one.
func (p Process) kill() {
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

// mark is the variable that names the lab in the environment of its processes.
const mark = "CMPILAB"

// marked finds the processes that carry the name of a lab, by that name. Of
// processes in hosts only those are found that kept their environment; the
// others end with their host.
func marked() map[string][]Process {
	found := map[string][]Process{}
	environs, _ := filepath.Glob("/proc/[0-9]*/environ") // a well-formed pattern
	for _, path := range environs {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		for _, kv := range bytes.Split(text, []byte{0}) {
			name, ok := bytes.CutPrefix(kv, []byte(mark+"="))
			if !ok {
				continue
			}
			pid, err := strconv.Atoi(strings.Split(path, "/")[2])
			if err != nil || pid == os.Getpid() {
				continue
			}
			if p, err := processOf(pid); err == nil {
				found[string(name)] = append(found[string(name)], p)
			}
		}
	}
	return found
}

// endLimit is how long killed processes may take to disappear. A process 1 waits
// for all of its namespace, and those may have a pool of GiBs to unmap.
const endLimit = 20 * time.Second

var errStillThere = errors.New("processes of the lab have been killed but don't end")

// endMarked kills all processes of a lab and waits until they are gone.
func endMarked(name string) error {
	deadline := time.Now().Add(endLimit)
	for {
		left := marked()[name]
		if len(left) == 0 {
			return nil
		}
		for _, p := range left {
			p.kill()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: %d of lab %s", errStillThere, len(left), name)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
