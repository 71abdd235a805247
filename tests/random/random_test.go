package main

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"cmpi/tests/random/program"
	"cmpi/tests/random/run"
)

var (
	perMode = flag.Int("cases", 0, "cases per mode (0: what some seconds allow)")
	seed    = flag.Uint64("seed", 1, "seed of the cases")
	library = flag.String("library", "../../build/out/libcmpi.so", "the library")
)

// An ordinary run executes up to so many cases per mode, and begins no batch of
// them after so long. Natively they judge the judge.
const (
	usual  = 500
	budget = 4 * time.Second
)

// TestRandom executes generated programs in every mode.
func TestRandom(t *testing.T) {
	for _, tool := range []string{"mpiexec.mpich", "mpicc.mpich"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("MPICH is not installed (build/setup installs it): %v", err)
		}
	}
	executor, err := run.Build("executor", "../../build/out/random")
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(*library)
	if err != nil {
		t.Fatal(err)
	}
	r := &run.Runner{Executor: executor, Library: path}
	for _, mode := range run.Modes {
		t.Run(string(mode), func(t *testing.T) {
			if _, err := os.Stat(path); err != nil && mode != run.Native {
				t.Skipf("the library is not built (make lib): %v", err)
			}
			n := *perMode
			if n == 0 {
				n = usual
			}
			start := time.Now()
			for i := 0; i*run.Size < n && (*perMode > 0 || time.Since(start) < budget); i++ {
				batch(t, r, mode, i)
			}
		})
	}
}

// batch executes one batch of cases.
func batch(t *testing.T, r *run.Runner, mode run.Mode, number int) {
	b := run.NewBatch(*seed, number, mode, run.Wish{})
	var cases []*program.Case
	for i := range run.Size {
		cases = append(cases, b.Case(*seed, number*run.Size+i))
	}
	failures, done, err := r.Run(context.Background(), b, cases)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range failures {
		if mode == run.Native && f.Kind != run.Illegal { // MPICH's own failure, says nothing of the judge
			t.Skipf("seed %d, %v: natively %v", *seed, b, f)
		}
		t.Errorf("seed %d, %v\n%v\n%v", *seed, b, f, f.Case)
	}
	if len(failures) == 0 && done < len(cases) {
		t.Errorf("seed %d, %v: ended after %d cases", *seed, b, done)
	}
}
