package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCollector feeds recorded events and compares what is counted.
func TestCollector(t *testing.T) {
	lines := func(l ...string) string { return strings.Join(l, "\n") + "\n" }
	for _, tc := range []struct {
		name   string
		events string
		want   map[string]status
	}{
		{"pass and skip", lines(
			`{"Action":"run","Package":"cmpi/a","Test":"TestX"}`,
			`{"Action":"pass","Package":"cmpi/a","Test":"TestX","Elapsed":0.5}`,
			`{"Action":"run","Package":"cmpi/a","Test":"TestY"}`,
			`{"Action":"output","Package":"cmpi/a","Test":"TestY","Output":"    a_test.go:3: no device\n"}`,
			`{"Action":"skip","Package":"cmpi/a","Test":"TestY"}`,
			`{"Action":"pass","Package":"cmpi/a"}`),
			map[string]status{"a TestX": passed, "a TestY": skipped}},
		{"subtests count, their parent does not", lines(
			`{"Action":"run","Package":"cmpi/a","Test":"TestX"}`,
			`{"Action":"run","Package":"cmpi/a","Test":"TestX/1"}`,
			`{"Action":"run","Package":"cmpi/a","Test":"TestX/1/z"}`,
			`{"Action":"fail","Package":"cmpi/a","Test":"TestX/1/z"}`,
			`{"Action":"fail","Package":"cmpi/a","Test":"TestX/1"}`,
			`{"Action":"run","Package":"cmpi/a","Test":"TestX/2"}`,
			`{"Action":"pass","Package":"cmpi/a","Test":"TestX/2"}`,
			`{"Action":"fail","Package":"cmpi/a","Test":"TestX"}`,
			`{"Action":"fail","Package":"cmpi/a"}`),
			map[string]status{"a TestX/1/z": failed, "a TestX/2": passed}},
		{"a subtest with a slash in its own name", lines(
			`{"Action":"run","Package":"cmpi/a","Test":"TestX"}`,
			`{"Action":"run","Package":"cmpi/a","Test":"TestX/y/z"}`,
			`{"Action":"fail","Package":"cmpi/a","Test":"TestX/y/z"}`,
			`{"Action":"fail","Package":"cmpi/a","Test":"TestX"}`,
			`{"Action":"fail","Package":"cmpi/a"}`),
			map[string]status{"a TestX/y/z": failed}},
		{"a parent that fails on its own counts", lines(
			`{"Action":"run","Package":"cmpi/a","Test":"TestX"}`,
			`{"Action":"run","Package":"cmpi/a","Test":"TestX/1"}`,
			`{"Action":"pass","Package":"cmpi/a","Test":"TestX/1"}`,
			`{"Action":"fail","Package":"cmpi/a","Test":"TestX"}`,
			`{"Action":"fail","Package":"cmpi/a"}`),
			map[string]status{"a TestX": failed, "a TestX/1": passed}},
		{"no build", lines(
			`{"ImportPath":"cmpi/a [cmpi/a.test]","Action":"build-output","Output":"a.go:1: syntax\n"}`,
			`{"ImportPath":"cmpi/a [cmpi/a.test]","Action":"build-fail"}`,
			`{"Action":"start","Package":"cmpi/a"}`,
			`{"Action":"fail","Package":"cmpi/a","FailedBuild":"cmpi/a [cmpi/a.test]"}`),
			map[string]status{"a": failed}},
		{"a test that never ends", lines(
			`{"Action":"run","Package":"cmpi/a","Test":"TestX"}`,
			`{"Action":"output","Package":"cmpi/a","Output":"panic: test timed out\n"}`,
			`{"Action":"fail","Package":"cmpi/a"}`),
			map[string]status{"a TestX": failed}},
		{"lines that are no events", "# cmpi/a\nnot json\n", map[string]status{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &report{start: time.Now()}
			if err := newCollector(r, r.start).read(strings.NewReader(tc.events)); err != nil {
				t.Fatal(err)
			}
			got := map[string]status{}
			for _, test := range r.tests {
				got[test.name] = test.status
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestSkipReason(t *testing.T) {
	got := skipReason("=== RUN TestY\n    a_test.go:3: no device: run as root\n--- SKIP: TestY (0.00s)\n")
	if want := "no device: run as root"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestClosingLine(t *testing.T) {
	r := &report{start: time.Now()}
	r.tests = []test{{status: passed}, {status: skipped, name: "x", output: "why"}, {status: passed}}
	var b strings.Builder
	r.summary(&b)
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	if got, want := lines[len(lines)-1], "2 passed, 0 failed, 1 skipped"; got != want {
		t.Errorf("last line %q, want %q", got, want)
	}
}

// A fuzz run that only came too late is repeated; one with a finding is not.
func TestFuzzerLate(t *testing.T) {
	const late = "fuzz: elapsed: 6s, execs: 49470 (0/sec)\n--- FAIL: FuzzConsumer (6.01s)\n    context deadline exceeded\nFAIL\n"
	if !fuzzerLate(late) {
		t.Error("a late end is taken for a finding")
	}
	if fuzzerLate("--- FAIL: FuzzConsumer (0.01s)\n    Failing input written to testdata/fuzz/FuzzConsumer/1\n    context deadline exceeded\n") {
		t.Error("a finding is taken for a late end")
	}
	marker := filepath.Join(t.TempDir(), "second")
	r := &report{}
	r.commandAgain("late", fuzzerLate, "sh", "-c", "test -e "+marker+" || { touch "+marker+"; echo context deadline exceeded; exit 1; }")
	r.commandAgain("fails", fuzzerLate, "sh", "-c", "echo context deadline exceeded; exit 1")
	if r.tests[0].status != passed || r.tests[1].status != failed {
		t.Errorf("statuses %v, %v", r.tests[0].status, r.tests[1].status)
	}
}
