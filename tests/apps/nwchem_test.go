package apps

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cmpi/tests/job"
)

// nwchem is the program of Debian's nwchem-mpich.
const nwchem = "/usr/bin/nwchem.mpich"

// TestNWChem computes a water molecule: energies by three methods and forces with
// 2 ranks, one energy with 4 (natively, four ranks on two cores take minutes for
// more). The program stands on Global Arrays, which mix windows, messages and
// collectives.
func TestNWChem(t *testing.T) {
	need(t, "nwchem-mpich", nwchem)
	var apps []app
	for _, a := range []struct {
		input    string
		ranks    int
		energies []string // that must be there
	}{
		{"water", 2, []string{"SCF", "DFT", "MP2"}},
		{"water-scf", 4, []string{"SCF"}},
	} {
		apps = append(apps, app{
			name:  a.input,
			ranks: []int{a.ranks},
			modes: usual,
			slow:  true,
			limit: 5 * time.Minute,
			env: []string{
				"ARMCI_USE_WIN_ALLOCATE=0", // what Debian's README asks for with MPICH
				"NWCHEM_BASIS_LIBRARY=/usr/share/nwchem/libraries/",
			},
			prepare: func(t *testing.T, dir string) []string {
				copyFiles(t, dir, "data/"+a.input+".nw")
				return []string{nwchem, a.input + ".nw"}
			},
			result: func(_ string, r job.Result) (any, error) { return nwchemResult(r.Stdout, a.energies) },
			equal:  []cmp.Option{cmpopts.EquateApprox(0, nwchemDigits)},
		})
	}
	test(t, apps)
}

// nwchemDigits is how far, in atomic units, energies of two runs may differ. They
// are printed to 1e-12; the order of summation changes the last digits of
// intermediate results also between two native runs.
const nwchemDigits = 1e-9

// quantity is an energy or a force that NWChem has printed.
type quantity struct {
	Name  string
	Value []float64
}

var (
	energy = regexp.MustCompile(`^(Total (\w+) energy|One-electron energy|Two-electron energy|Nuclear repulsion energy|Correlation energy|Coulomb energy) =? ?(-?[0-9]+\.[0-9]{6,})$`)
	force  = regexp.MustCompile(`^([0-9]+ (?:O|H)) (-?[0-9]+\.[0-9]{6}) (-?[0-9]+\.[0-9]{6}) (-?[0-9]+\.[0-9]{6}) (-?[0-9]+\.[0-9]{6}) (-?[0-9]+\.[0-9]{6}) (-?[0-9]+\.[0-9]{6})$`)
)

// nwchemResult is every energy and every line of the table of forces, in the
// order of printing.
func nwchemResult(stdout string, energies []string) (any, error) {
	var list []quantity
	found := map[string]bool{}
	for _, line := range lines(stdout) {
		var q quantity
		var values []string
		if m := energy.FindStringSubmatch(line); m != nil {
			q.Name, values = m[1], m[3:]
			found[m[2]] = true
		} else if m := force.FindStringSubmatch(line); m != nil {
			q.Name, values = "force on "+m[1], m[2:]
		} else {
			continue
		}
		for _, v := range values {
			x, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return nil, err
			}
			q.Value = append(q.Value, x)
		}
		list = append(list, q)
	}
	for _, kind := range energies {
		if !found[kind] {
			return nil, fmt.Errorf("no %s energy", kind)
		}
	}
	return list, nil
}
