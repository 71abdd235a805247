package main

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// TestKill is a short run; main.go says what it does.
func TestKill(t *testing.T) {
	if _, err := exec.LookPath("mpiexec.mpich"); err != nil {
		t.Skipf("MPICH is not installed (build/setup installs it): %v", err)
	}
	t.Chdir("../..")
	if _, err := os.Stat(*library); err != nil {
		t.Skipf("the library is not built (make lib): %v", err)
	}
	if out, err := exec.Command("tests/programs/build.sh").CombinedOutput(); err != nil {
		t.Fatalf("build.sh: %v\n%s", err, out)
	}
	*rounds, *seed, *pool = 20, 20261121, fmt.Sprintf("/dev/shm/cmpi-kill-%d", os.Getpid())
	if err := run(); err != nil {
		t.Fatal(err)
	}
}
