package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseTestlist(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []Test
	}{
		{"comments and empty lines", "# nothing\n\n   \t\n", nil},
		{"program alone", "simple\n", []Test{{Dir: "d", Program: "simple", Ranks: 2}}},
		{"blanks, a comment behind, no newline", "  dup \t 4   # why", []Test{{Dir: "d", Program: "dup", Ranks: 4}}},
		{"arguments with = inside", "p 1 arg=-iter=5 arg=x env=A=b=c", []Test{{Dir: "d", Program: "p", Ranks: 1, Args: []string{"-iter=5", "x"}, Env: []string{"A=b=c"}}}},
		{"a word without = is skipped", "p 1 test/mpi/p arg=x", []Test{{Dir: "d", Program: "p", Ranks: 1, Args: []string{"x"}}}},
		{"limits", "p 3 timeLimit=600 mem=6.5", []Test{{Dir: "d", Program: "p", Ranks: 3, Limit: 10 * time.Minute, Memory: 6.5}}},
		{"rules", "p 2 resultTest=TestErrFatal xfail=ticket1 xfail=ticket2 strict=FALSE mpix=true",
			[]Test{{Dir: "d", Program: "p", Ranks: 2, Judge: testErrFatal, Xfail: []string{"ticket1", "ticket2"}}}},
		{"mpiexec", "p 2 mpiexecarg=-disable-auto-cleanup", []Test{{Dir: "d", Program: "p", Ranks: 2, MpiexecArgs: []string{"-disable-auto-cleanup"}}}},
		{"wanted text", "p 2 resultTest=ExitZero want=a+b_c", []Test{{Dir: "d", Program: "p", Ranks: 2, Judge: exitZero, Want: []string{"a b_c"}}}},
		{"the same line twice", "p 2\np 2\np 3\n", []Test{{Dir: "d", Program: "p", Ranks: 2}, {Dir: "d", Program: "p", Ranks: 3}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parseTestlist(strings.NewReader(tc.text), "d")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestParseTestlistErrors(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"p many", `"many" is not a number of processes`},
		{"p 0", `"0" is not a number of processes`},
		{"p 2 colour=red", "colour=red: unknown key"},
		{"p 2 env=X", "env=X: not NAME=value"},
		{"p 2 timeLimit=soon", "timeLimit=soon"},
		{"p 2 resultTest=Nothing", "unknown rule"},
		{"!../util:mtest", "is not understood"},
	} {
		_, err := parseTestlist(strings.NewReader("ok 2\n"+tc.line), "d")
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: error %v, want one about line 2 with %q", tc.line, err, tc.want)
		}
	}
}

func TestID(t *testing.T) {
	test := Test{Dir: "threads/pt2pt", Program: "p", Ranks: 2, Args: []string{"-a"}, Env: []string{"X=1"}, Limit: time.Second}
	if got, want := test.ID(), "threads/pt2pt/p 2 arg=-a env=X=1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestBasicList reads our own list.
func TestBasicList(t *testing.T) {
	tests, err := parseTestlist(strings.NewReader(basicList), basicDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		if test.Judge != exitZero {
			t.Errorf("%s: no program there says \"No Errors\"", test.ID())
		}
	}
}

func TestJudge(t *testing.T) {
	for _, tc := range []struct {
		name   string
		rule   resultTest
		output string
		status int
		want   string // a part of the reason; "": it passed
	}{
		{"ordinary", noErrors, " No Errors\n", 0, ""},
		{"ordinary, both spellings of the word", noErrors, "No errors\n", 0, ""},
		{"with what runtests overlooks", noErrors, "Test Passed\nFORTRAN STOP\n No Errors\n", 0, ""},
		{"said twice", noErrors, " No Errors\n No Errors\n", 0, "unexpected output"},
		{"a line too many", noErrors, "cmpi: a word\n No Errors\n", 0, `"cmpi: a word"`},
		{"nothing said", noErrors, "", 0, "it did not say"},
		{"exit status", noErrors, " No Errors\n", 3, "exit status 3"},
		{"wants a failure and has it", testStatus, "=== BAD TERMINATION\n", 1, ""},
		{"wants a failure", testStatus, "", 0, "exit status 0"},
		{"wants a fatal error", testErrFatal, "whatever\n", 0, "exit status 0"},
		{"has a fatal error", testErrFatal, "whatever\n", 13, ""},
		{"no errors and a failure", testStatusNoErrors, " No Errors\n", 9, ""},
		{"no errors but no failure", testStatusNoErrors, " No Errors\n", 0, "exit status 0"},
		{"ends well", exitZero, "1 2 3\na b\n", 0, ""},
		{"ends badly", exitZero, "a b\n", 1, "exit status 1"},
		{"says that it fails", exitZero, "a b\n0:FAILURE - sr\n", 0, `"FAILURE"`},
		{"lacks a text", exitZero, "a c\n", 0, `lacks "a b"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := judge(Test{Judge: tc.rule, Want: []string{"a b"}}, tc.output, tc.status)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
