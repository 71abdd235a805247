package apps

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cmpi/tests/job"
)

// Where Debian's scalapack-mpi-test has its testers, and scalapack-test-common
// their input. A tester reads its input from the current folder.
const (
	testers = "/usr/lib/x86_64-linux-gnu/scalapack/mpich-tests"
	inputs  = "/usr/share/scalapack"
)

// quick are the testers of the quick run, one per family, in different
// precisions.
var quick = []string{"xdlu", "xzllt", "xcqr", "xdls", "xsinv", "xdtrd", "xddblu", "PBLAS/dpb3tst", "xCbtest"}

// withFour are those that also run with four ranks.
var withFour = []string{"xdlu", "xzllt", "xcqr", "xdinv", "PBLAS/dpb3tst", "xCbtest"}

// stops are the testers of BLACS, eigenvalues and singular values: a grid that
// is too large for the ranks stops them, where the others go on to the next one.
var stops = regexp.MustCompile(`btest$|sep$|svd$`)

// unset are testers that compare variables which they never set (VL and VU in
// pdseprtst.f), so that they report a failure where those happen to be NaN.
var unset = regexp.MustCompile(`evr$`)

// TestScaLAPACK runs the testers of ScaLAPACK, PBLAS and BLACS: with 2 ranks all
// of Debian's problems for so many, with 4 ranks one problem of each kind on a
// grid of 2 x 2 (four ranks that spin on two cores take minutes for more).
func TestScaLAPACK(t *testing.T) {
	need(t, "scalapack-mpi-test", testers)
	var apps []app
	for _, name := range allTesters(t) {
		a := app{
			name:    filepath.Base(name),
			ranks:   []int{2},
			modes:   usual,
			slow:    !slices.Contains(quick, name),
			limit:   3 * time.Minute,
			prepare: tester(name, whole),
			result:  testerResult,
		}
		if stops.MatchString(name) {
			a.prepare = tester(name, func(input string) string { return onGrid(input, 1, 2) })
		}
		apps = append(apps, a)
		if slices.Contains(withFour, name) {
			a.name += " on a grid"
			a.ranks = []int{4}
			a.slow = true
			a.prepare = tester(name, func(input string) string { return onGrid(oneProblem(input), 2, 2) })
			apps = append(apps, a)
		}
	}
	test(t, apps)
}

// allTesters are the names of the testers below their folder, but for those that
// are in error themselves.
func allTesters(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"x*", "PBLAS/?pb?tst"} {
		files, err := filepath.Glob(filepath.Join(testers, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			name, err := filepath.Rel(testers, f)
			if err != nil {
				t.Fatal(err)
			}
			if !unset.MatchString(name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// tester prepares a run of a tester with input that an edit has passed.
func tester(name string, edit func(string) string) func(*testing.T, string) []string {
	return func(t *testing.T, dir string) []string {
		t.Helper()
		for _, folder := range []string{"", "BLACS", "PBLAS"} {
			files, err := filepath.Glob(filepath.Join(inputs, folder, "*.dat"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, filepath.Base(f)), []byte(edit(string(b))), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		return []string{filepath.Join(testers, name)}
	}
}

// An input file is a list of lines "values  meaning", where a line with a number
// may say how many of the values on the next lines count.
var (
	errorExits = regexp.MustCompile(`(?m)^T(\s+logical flag, T to test error exits)`)
	auxiliary  = regexp.MustCompile(`(?m)^'T'(\s+Run AUX\?)`)
	problems   = regexp.MustCompile(`(?im)^ *[0-9]+(\s+number of (?:problems? sizes|NB's|NRHS's|NBRHS's|blocking sizes|tests? problems))`)
	sizes      = regexp.MustCompile(`(?m)^[-0-9 ]*?([0-9]+)(\s+values of (?:M|N|NB|MB|NRHS|NBRHS)\b)`)
	grids      = regexp.MustCompile(`(?im)^ *[0-9]+(\s+number of (?:process(?:or)? )?(?:grids|configurations))`)
	rows       = regexp.MustCompile(`(?m)^.*\S(\s+(?:values of P\b|NPROW))`)
	columns    = regexp.MustCompile(`(?m)^.*\S(\s+(?:values of Q\b|NPCOL))`)
)

// whole leaves out only what isn't for comparison: errors on purpose, of which
// all ranks print messages, in any order, and a test that aborts.
func whole(input string) string {
	input = errorExits.ReplaceAllString(input, "F$1")
	return auxiliary.ReplaceAllString(input, "'F'$1")
}

// oneProblem leaves one problem of each kind. Where sizes stand for themselves it
// takes the last ones in the file, which are larger than those that count; in
// PBLAS's files all values of a problem stand in one column.
func oneProblem(input string) string {
	input = problems.ReplaceAllString(input, "1$1")
	if strings.Contains(input, "PBLAS") {
		return input
	}
	return sizes.ReplaceAllString(input, "$1$2")
}

// onGrid leaves one grid.
func onGrid(input string, p, q int) string {
	input = grids.ReplaceAllString(whole(input), "1$1")
	input = rows.ReplaceAllString(input, fmt.Sprintf("%d$1", p))
	return columns.ReplaceAllString(input, fmt.Sprintf("%d$1", q))
}

// number is a time, a rate or a residual.
var number = regexp.MustCompile(`-?[0-9]*\.[0-9]+(?:[ED][-+]?[0-9]+)?|\*{4,}|NaN`)

// testerResult is what a tester prints, without times, rates and residuals: what
// is left says what was tested, and whether it passed.
func testerResult(_ string, r job.Result) (any, error) {
	if !strings.Contains(strings.ToLower(r.Stdout), "passed") {
		return nil, errors.New("no test has passed")
	}
	return lines(number.ReplaceAllString(r.Stdout, "#")), nil
}
