package process

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

const variable = "CMPI_PROCESS_TEST"

// TestEndMarked ends processes that start others all the time, one program after
// the other: between two, a process has no environment.
func TestEndMarked(t *testing.T) {
	script := `if [ "$0" = 9 ]; then exec sleep 1000; fi; sh -c "$1" 9 "$1" & exec sh -c "$1" $(($0+1)) "$1"`
	for i := range 20 {
		value := strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(i)
		cmd := exec.Command("sh", "-c", script, "0", script)
		cmd.Env = append(os.Environ(), variable+"="+value)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i) * time.Millisecond)
		if err := EndMarked(variable, value, time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("ended with %v", err)
		}
		if found, _ := Marked(variable); len(found[value]) != 0 {
			t.Errorf("still there: %v", found[value])
		}
	}
}

// TestStarting tells processes without an environment apart.
func TestStarting(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := Of(cmd.Process.Pid)
	if err != nil || !p.Alive() {
		t.Errorf("%v, %v; wanted a process that runs", p, err)
	}
	for deadline := time.Now().Add(time.Minute); starting(p.PID); { // Start returns a little early
		if time.Now().After(deadline) {
			t.Fatal("a process without an environment is said to be starting")
		}
	}
	p.Kill()
	var ended *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &ended) {
		t.Error(err)
	}
	if p.Alive() || starting(p.PID) {
		t.Error("a process that has ended is said to live")
	}
}
