package simulate

import (
	"flag"
	"fmt"
	"testing"

	"cmpi/tests/random/generate"
	"cmpi/tests/random/model"
	"cmpi/tests/random/program"
)

var cases = flag.Int("cases", 3000, "cases to simulate")

// params vary as those of real runs do.
func params(number int) generate.Params {
	return generate.Params{Ranks: 2 + number%3, Threads: 1 + number/3%3, Limits: []int{40, 56, 96, 200, 1024, 16 << 10, 32 << 10, 300_000},
		MaxBytes: 1 << 20, Host: number%7 == 0}
}

// TestSound: no schedule blocks a generated case, and what an intact MPI does is
// accepted.
func TestSound(t *testing.T) {
	ops := map[program.Kind]int{}
	for n := range *cases {
		c := generate.New(1, n, params(n))
		if unsafe := c.Unsafe(); len(unsafe) > 0 {
			t.Fatalf("unsafe: %v\n%v", unsafe, c)
		}
		for seed := range uint64(4) {
			observed, err := Run(c, seed, None)
			if err != nil {
				t.Fatalf("schedule %d: %v\n%v", seed, err, c)
			}
			if problems := model.Check(c, observed, model.Options{}); len(problems) > 0 {
				t.Fatalf("schedule %d: %q\n%v", seed, problems, c)
			}
		}
		for _, threads := range c.Threads {
			for _, list := range threads {
				for _, op := range list {
					ops[op.Kind]++
				}
			}
		}
	}
	for k := range program.Kind(program.CancelRest) {
		t.Logf("%-20v %d", k, ops[k])
		if ops[k] == 0 {
			t.Errorf("no %v in %d cases", k, *cases)
		}
	}
}

// TestFaults: every fault is found, and by what it breaks, often enough that it
// would be in any real run.
func TestFaults(t *testing.T) {
	for f := Fault(1); f < Faults; f++ {
		t.Run(f.String(), func(t *testing.T) {
			found, first, example := 0, 0, ""
			tries := *cases / 4
			for n := range tries {
				c := generate.New(2, n, params(n))
				observed, err := Run(c, uint64(n), f)
				problems := model.Check(c, observed, model.Options{})
				if err != nil {
					problems = []string{err.Error()}
				}
				if len(problems) > 0 {
					if found++; found == 1 {
						first, example = n, fmt.Sprintf("%v\n%v", problems[0], c)
					}
				}
			}
			t.Logf("found in %d of %d cases, first in case %d: %s", found, tries, first, example)
			if found < tries/200 {
				t.Errorf("found in %d of %d cases", found, tries)
			}
		})
	}
}
