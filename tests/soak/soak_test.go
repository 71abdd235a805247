package main

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestSoak is a short run; main.go says what it does. Its bounds for memory are
// wide.
func TestSoak(t *testing.T) {
	if _, err := exec.LookPath("mpiexec.mpich"); err != nil {
		t.Skipf("MPICH is not installed (build/setup installs it): %v", err)
	}
	t.Chdir("../..")
	c := config{
		For: 10 * time.Second, Every: time.Second, Rest: 300 * time.Millisecond, Seed: 20261121, Stats: true,
		Pool: fmt.Sprintf("/dev/shm/soak-%d", os.Getpid()), Library: "build/out/libcmpi.so", Programs: "build/out/programs",
	}
	if _, err := os.Stat(c.Library); err != nil {
		t.Skipf("the library is not built (make lib): %v", err)
	}
	if out, err := exec.Command("tests/programs/build.sh").CombinedOutput(); err != nil {
		t.Fatalf("build.sh: %v\n%s", err, out)
	}
	if err := run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}
