package main

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample is a small campaign with a run of every class.
func sample() *Report {
	k := known{
		{kind: failsNatively, name: "a/broken", reason: "a bug"},
		{kind: excluded, name: "a/order", reason: "MPI 4.0, 3.5"},
	}
	pass := func(s float64) Outcome { return Outcome{Verdict: passed, Seconds: s} }
	fail := func(why string) Outcome {
		return Outcome{Verdict: failed, Seconds: 9, Why: why, Output: "two\nlines <&>\x01\n"}
	}
	skip := Outcome{Verdict: skipped, Why: "too large"}
	r := &Report{Modes: []string{nativeMode, "flush"}}
	for _, line := range []struct {
		dir, program string
		native, ours Outcome
	}{
		{"a", "good", pass(1), pass(0.5)},
		{"a", "bad", pass(2), fail("exit status 1")},
		{"a", "broken", fail("exit status 2"), pass(1)},
		{"a", "order", pass(1), fail("exit status 3")},
		{"b", "large", skip, skip},
	} {
		t := Test{Dir: line.dir, Program: line.program, Ranks: 2}
		row := Row{Test: t, ID: t.ID()}
		row.add(k, nativeMode, line.native)
		row.add(k, "flush", line.ours)
		r.Rows = append(r.Rows, row)
	}
	return r
}

func TestText(t *testing.T) {
	var b strings.Builder
	sample().WriteText(&b)
	want := `  directory  tests  skipped  |  native    s  |  flush  fixed  differ  excluded     s
          a      4        0  |       3  4.0  |      2      1       1         1  18.5
          b      1        1  |       0  0.0  |      0      0       0         0   0.0
        all      5        1  |       3  4.0  |      2      1       1         1  18.5
s: seconds of the tests that pass natively

different: passes natively, fails over the library
  a/bad 2 [flush] 9.0 s; exit status 1
    two
    lines <&>` + "\x01" + `

excluded by known.txt
  a/order 2 [flush] 9.0 s; exit status 3; MPI 4.0, 3.5

fixed: fails natively, passes over the library
  a/broken 2 [flush] 1.0 s; a bug
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := sample().differences(); got != 1 {
		t.Errorf("%d differences, want 1", got)
	}
}

func TestTAP(t *testing.T) {
	var b strings.Builder
	if err := sample().WriteTAP(&b); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "ok") || strings.HasPrefix(line, "not ok") || strings.HasPrefix(line, "1..") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	want := []string{
		"1..10",
		"ok 1 - a/good 2 [native]",
		"ok 2 - a/good 2 [flush]",
		"ok 3 - a/bad 2 [native]",
		"not ok 4 - a/bad 2 [flush]",
		"not ok 5 - a/broken 2 [native] # TODO a bug",
		"ok 6 - a/broken 2 [flush]",
		"ok 7 - a/order 2 [native]",
		"not ok 8 - a/order 2 [flush] # TODO MPI 4.0, 3.5",
		"ok 9 - b/large 2 [native] # SKIP too large",
		"ok 10 - b/large 2 [flush] # SKIP too large",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestJUnit(t *testing.T) {
	var b strings.Builder
	if err := sample().WriteJUnit(&b); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatalf("not well-formed: %v\n%s", err, b.String())
	}
	counts := map[string][3]int{}
	for _, s := range got.Suites {
		counts[s.Name] = [3]int{s.Tests, s.Failures, s.Skipped}
	}
	want := map[string][3]int{"a [native]": {4, 0, 1}, "a [flush]": {4, 1, 1}, "b [native]": {1, 0, 1}, "b [flush]": {1, 0, 1}}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("tests, failures, skipped (-want +got)\n%s", diff)
	}
}
