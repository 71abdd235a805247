package mpitransport

import (
	"os"
	"os/exec"
	"testing"
)

func TestRuns(t *testing.T) {
	for _, tc := range []struct {
		stat string
		want bool
	}{
		{"12 (name) S 1 12", true},
		{"12 (name) Z 1 12", false},
		{"12 (a) Z) R 1 12", true},
		{"12 (a) R) X 1 12", false},
		{"", true},
		{"12 (name)", true},
	} {
		if got := runs([]byte(tc.stat)); got != tc.want {
			t.Errorf("%q: %v", tc.stat, got)
		}
	}
}

func TestProcessRuns(t *testing.T) {
	if !processRuns(uint32(os.Getpid())) {
		t.Error("this process doesn't run")
	}
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	pid := uint32(cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if processRuns(pid) {
		t.Error("a process that has ended still runs")
	}
}
