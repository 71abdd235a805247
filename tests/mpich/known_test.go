package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseKnown(t *testing.T) {
	got, err := parseKnown(strings.NewReader(`
# a comment
native   rma/get_acc_local 1 : got 1, expected 0
slow     pt2pt/sendflood : 8 ranks : all spin
excluded pt2pt/p 2 arg=-a=1 env=X=y mode=flush mode=emulate : MPI 4.0, 3.5: order
`))
	if err != nil {
		t.Fatal(err)
	}
	want := known{
		{kind: failsNatively, name: "rma/get_acc_local", ranks: 1, reason: "got 1, expected 0", line: 3},
		{kind: slowNatively, name: "pt2pt/sendflood", reason: "8 ranks : all spin", line: 4},
		{kind: excluded, name: "pt2pt/p", ranks: 2, options: []string{"arg=-a=1", "env=X=y"}, modes: []string{"flush", "emulate"},
			reason: "MPI 4.0, 3.5: order", line: 5},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(rule{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestParseKnownErrors(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"native pt2pt/p 2", "no reason"},
		{"native pt2pt/p 2 : ", "no reason"},
		{"native : why", "no directory/program"},
		{"native program : why", "no directory/program"},
		{"broken pt2pt/p : why", "unknown kind"},
		{"native pt2pt/p two : why", "not a number"},
		{"native pt2pt/p 2 3 : why", `"3" is not understood`},
		{"native pt2pt/p arg= : why", `"arg=" is not understood`},
		{"native pt2pt/p mode=flush : why", `"mode=flush" is not understood`},
		{"excluded pt2pt/p colour=red : why", `"colour=red" is not understood`},
	} {
		_, err := parseKnown(strings.NewReader("\n" + tc.line))
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: error %v, want one about line 2 with %q", tc.line, err, tc.want)
		}
	}
}

// TestKnownFile reads the list itself.
func TestKnownFile(t *testing.T) {
	k, err := parseKnown(strings.NewReader(knownText))
	if err != nil {
		t.Fatalf("%s, %v", knownFile, err)
	}
	for _, r := range k {
		if err := checkModes(r.modes); err != nil {
			t.Errorf("%s, line %d: %v", knownFile, r.line, err)
		}
	}
}

func TestCheck(t *testing.T) {
	k := known{{name: "d/p", ranks: 3, line: 7}, {name: "elsewhere/q"}}
	if err := k.check([]Test{{Dir: "d", Program: "p", Ranks: 3}}); err != nil {
		t.Error(err)
	}
	if err := k.check([]Test{{Dir: "d", Program: "p", Ranks: 2}}); err == nil || !strings.Contains(err.Error(), "line 7") {
		t.Errorf("error %v, want one about line 7", err)
	}
}

func TestClassify(t *testing.T) {
	test := Test{Dir: "d", Program: "p", Ranks: 2}
	pass, fail, skip := &Outcome{Verdict: passed}, &Outcome{Verdict: failed}, &Outcome{Verdict: skipped}
	exclusion := known{{kind: excluded, name: "d/p", modes: []string{"flush"}, reason: "why"}}
	fails := known{{kind: failsNatively, name: "d/p", ranks: 2, reason: "why"}}
	slow := known{{kind: slowNatively, name: "d/p", reason: "why"}}
	for _, tc := range []struct {
		name         string
		known        known
		native, ours *Outcome // no ours: the native run is classified
		want         Class
	}{
		{"both pass", nil, pass, pass, same},
		{"both fail", nil, fail, fail, same},
		{"only ours fails", nil, pass, fail, different},
		{"only ours passes", nil, fail, pass, fixed},
		{"not run", nil, pass, skip, notRun},
		{"excluded", exclusion, pass, fail, accepted},
		{"excluded, but passes", exclusion, pass, pass, stale},
		{"excluded, fails natively too", exclusion, fail, fail, same},
		{"no native run, fails", nil, nil, fail, different},
		{"no native run, known to fail natively", fails, nil, fail, same},
		{"no native run, known to fail natively, passes", fails, nil, pass, fixed},
		{"native run", nil, pass, nil, same},
		{"native run as known", fails, fail, nil, same},
		{"native run better than known", fails, pass, nil, stale},
		{"native run faster than known", slow, pass, nil, same},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got Class
			if tc.ours == nil {
				got, _ = classifyNative(tc.known, test, *tc.native)
			} else {
				got, _ = classify(tc.known, test, "flush", tc.native, *tc.ours)
			}
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
