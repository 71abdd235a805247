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

	"cmpi/tests/module"
)

var suiteDir = flag.String("suite", "", "a folder with the suite's src and build, configured already")

// quickRanks leaves out tests that are listed with more ranks: they need more
// cores than a small machine has, natively at least.
const quickRanks = 4

// quick is the selection: in coherent mode something of every directory, in the
// modes for several hosts what concerns messages. Minutes on two cores, half of
// them for building. Left out is what takes seconds each.
var quick = []struct {
	dir   string
	modes []string
	tests string // a regular expression about the line behind the directory
}{
	{"pt2pt", []string{"coherent"}, `sendself|sendrecv2 2$|anyall|eagerdt|bottom|bsend[1-5]|bsendalign|bsendfrag|isendself|isendrecv|icsend|icprobe|
		rqstatus|rqfreeb|greq1|probe_unexp 4$|probenull 1$|rcancel|cancelanysrc|inactivereq|waittestnull|waitany_null|mprobe 2$|big_count_status|
		many_isend|manylmt|huge_|multi_psend|dtype_send|recv_any|irecv_any|large_tag|precv_anysrc|pt2pt_large|sendrecv1 2 .*-seed=4[0-9]`},
	{"comm", []string{"coherent"}, `dup 2|dupic|commname|ic1|cmsplit 4|cmfree2|probe_intercomm|cmsplit_type|comm_create_group 4|comm_group_half 4|
		comm_group_rand 2|comm_idup [24]|comm_idup_mul|comm_idup_overlap|dup_with_info 4|idup_with_info 4|comm_info2|comm_create_group_idup`},
	{"datatype", []string{"coherent"}, `concurrent_irecv|getpartelm|tresized|sendrecvt|tfree|subarray 2|dataalign|get_elements|struct_verydeep|lots_of_types|typename`},
	{"attr", []string{"coherent"}, `attrt|attric|attrend|attrdeleteget|attrorder|keyval_double_free`},
	{"group", []string{"coherent"}, `groupcreate|grouptest2`},
	{"info", []string{"coherent"}, `infotest|infoenv`},
	{"init", []string{"coherent"}, `exitst|initstat|version|finalized|attrself|session`},
	{"errhan", []string{"coherent"}, ``},
	{"topo", []string{"coherent"}, `cartsuball|cartcreates|topotest|topodup|graphcr|distgraph1|dgraph_unwgt`},
	{basicDir, []string{"coherent"}, `simple|self|sendrecv 2$|srtest|patterns`},
	{"part", []string{"coherent"}, `start_pready_range|start_pready_list|parrived 2 arg=-spart=16|parrived_pready_out_of_order|multipart|nonblocking_pready|no_start`},
	{"threads/pt2pt", []string{"coherent"}, `threaded_sr|sendselfth|multisend 2|greq_|ibsend|mt_(send|bsend|ssend|isend|ibsend|issend)i?recv 2|mt_m?probe_sendrecv 2|mt_improbe_isendrecv 2`},
	{"threads/comm", []string{"coherent"}, `ctxdup|comm_create_group_threads`},
	{"f77/pt2pt", []string{"coherent"}, `statusesf|greqf|sendf|psendf|mprobef`},
	{"f77/datatype", []string{"coherent"}, `bottom|typecntsf|packef`},
	{"f90/pt2pt", []string{"coherent"}, `statusesf90|isendf90|prsendf90|sendrecvreplf90`},
	{"f90/datatype", []string{"coherent"}, `structf|get_elem_u|indtype`},
	{"f08/pt2pt", []string{"coherent"}, ``},
	{"f08/datatype", []string{"coherent"}, `structf|get_elem_u|indtype|kinds`},
	{"coll", []string{"coherent"}, `allred 4|allred2|bcasttest 4|coll[4-9]|coll1[0-3]|nonblocking2? [14]|iallred|ibarrier|neighb_|p_bcast 4|p_barrier|p_neighb_alltoallw|opsum|scantst`},

	{"pt2pt", []string{"flush"}, `sendrecv2 2$|bsend5|isendrecv|mprobe 2$|probe_unexp 4$|icsend 4$|manylmt|many_isend|huge_underflow 2$|huge_ssend|rqfreeb|rcancel|dtype_send|sendrecv1 2 .*-seed=4[0-3]`},
	{"comm", []string{"flush"}, `dupic|comm_idup 4|ic1`},
	{"threads/pt2pt", []string{"flush"}, `threaded_sr|mt_isendirecv 2|mt_mprobe_sendrecv 2`},
	{"f08/pt2pt", []string{"flush"}, `psendf08|sendrecvf08|mprobef08`},

	{"pt2pt", []string{"emulate"}, `sendrecv2 2$|isendrecv 4|mprobe 2$|bottom|many_isend|dtype_send|huge_underflow 2$`},
	{"threads/pt2pt", []string{"emulate"}, `mt_sendrecv 2`},
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
	root, err := module.Root()
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
	// A pattern over several lines is one expression.
	pattern = strings.NewReplacer("\n", "", "\t", "").Replace(pattern)
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
