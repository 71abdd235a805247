package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var suiteDir = flag.String("suite", "", "a folder with the suite's src and build, configured already")

// quickRanks leaves out tests that are listed with more ranks: they need more
// cores than a small machine has, natively at least.
const quickRanks = 4

// quick is the selection: every directory, and in the modes for several hosts
// what concerns messages. Minutes on two cores, most of them for building.
var quick = []struct {
	dir   string
	modes []string
	tests string // a regular expression about the line; "": all of the directory
}{
	{"pt2pt", []string{"coherent"}, ""},
	{"pt2pt", []string{"flush"}, "sendrecv2 2$|sendrecv3|bsend|isendrecv|mprobe 2$|probe_unexp 4$|icsend 4$|manylmt|huge_underflow 2$|rqfreeb|greq1|rcancel"},
	{"pt2pt", []string{"emulate"}, "sendrecv2 2$|isendrecv 4|mprobe 2$|bottom|many_isend|dtype_send"},
}

// TestQuick runs the quick selection over the library. A test that fails is run
// natively as well: only if it passes there is that a failure here.
func TestQuick(t *testing.T) {
	r, k := prepareQuick(t)
	chosen := map[string][]Test{} // by directory: to build each once
	for _, q := range quick {
		chosen[q.dir] = append(chosen[q.dir], quickTests(t, r.suite, q.dir, q.tests)...)
	}
	for _, tests := range chosen {
		if err := r.suite.make(t.Context(), tests); err != nil {
			t.Fatal(err)
		}
	}
	probed := map[string]bool{}
	for _, q := range quick {
		for _, mode := range q.modes {
			if !probed[mode] {
				probed[mode] = true
				t.Run("carries/"+mode, func(t *testing.T) {
					if err := r.probe(t.Context(), mode); err != nil {
						t.Error(err)
					}
				})
			}
			for _, test := range quickTests(t, r.suite, q.dir, q.tests) {
				t.Run(strings.ReplaceAll(test.ID(), " ", ",")+"/"+mode, func(t *testing.T) { quickOne(t, r, k, test, mode) })
			}
		}
	}
}

// prepareQuick readies the suite, and skips the test where it can't be had.
func prepareQuick(t *testing.T) (*runner, known) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(root, "build/out/libcmpi.so")
	if _, err := os.Stat(library); err != nil {
		t.Skipf("the library is not built (make lib): %v", err)
	}
	k, err := parseKnown(strings.NewReader(knownText))
	if err != nil {
		t.Fatalf("%s, %v", knownFile, err)
	}
	s, err := openSuite(t.Context(), filepath.Join(root, "build/out/mpich-suite"), *suiteDir, t.Output())
	if errors.Is(err, errUnavailable) {
		t.Skip(strings.ReplaceAll(err.Error(), "\n", " "))
	}
	if err != nil {
		t.Fatal(err)
	}
	return &runner{suite: s, library: library, limit: time.Minute}, k
}

// quickTests are the tests of a directory that the selection means.
func quickTests(t *testing.T, s *suite, dir, pattern string) []Test {
	t.Helper()
	all, err := s.tests(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	chosen := regexp.MustCompile("^" + regexp.QuoteMeta(dir) + "/(" + pattern + ")")
	var tests []Test
	for _, test := range all {
		if test.Ranks <= quickRanks && len(test.Xfail) == 0 && chosen.MatchString(test.ID()) {
			tests = append(tests, test)
		}
	}
	if len(tests) == 0 {
		t.Fatalf("no test of %s matches %s", dir, pattern)
	}
	return tests
}

// quickOne runs one test in one mode.
func quickOne(t *testing.T, r *runner, k known, test Test, mode string) {
	ours, err := r.run(t.Context(), test, mode)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case ours.Verdict == passed:
		return
	case ours.Verdict == skipped:
		t.Skip(ours.Why)
	}
	native, err := r.run(t.Context(), test, nativeMode)
	if err != nil {
		t.Fatal(err)
	}
	switch class, note := classify(k, test, mode, &native, ours); class {
	case different:
		t.Errorf("it passes natively and fails over the library: %s\n%s", ours.Why, ours.Output)
	case accepted:
		t.Skipf("excluded: %s", note)
	default:
		t.Skipf("it fails natively, too: %s", native.Why)
	}
}
