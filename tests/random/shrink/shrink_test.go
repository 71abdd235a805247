package shrink

import (
	"testing"

	"cmpi/tests/random/generate"
	"cmpi/tests/random/model"
	"cmpi/tests/random/program"
	"cmpi/tests/random/simulate"
)

// TestShrink makes cases small on which a faulty MPI fails, and checks that what
// is left is sound and still fails.
func TestShrink(t *testing.T) {
	for _, fault := range []simulate.Fault{simulate.MatchNewest, simulate.Overtake, simulate.WrongCount} {
		t.Run(fault.String(), func(t *testing.T) {
			fails := func(c *program.Case) bool {
				for seed := range uint64(10) {
					observed, err := simulate.Run(c, seed, fault)
					if err != nil || len(model.Check(c, observed, model.Options{})) > 0 {
						return true
					}
				}
				return false
			}
			shrunk := 0
			for n := 0; shrunk < 5; n++ {
				c := generate.New(3, n, generate.Params{Ranks: 3, Threads: 1, Limits: []int{1000}, MaxBytes: 1 << 16})
				if c.Len() < 10 || !fails(c) {
					continue
				}
				shrunk++
				d := Shrink(c, fails)
				if !fails(d) || len(d.Unsafe()) > 0 {
					t.Fatalf("case %d: what is left is sound: %v, fails: %v\n%v", n, len(d.Unsafe()) == 0, fails(d), d)
				}
				if d.Len() > 6 {
					t.Errorf("case %d: %d operations of %d are left\n%v", n, d.Len(), c.Len(), d)
				}
			}
		})
	}
}
