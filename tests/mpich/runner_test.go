package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cmpi/tests/process"
)

// emptySuite has one directory without programs.
func emptySuite(t *testing.T, dir string) *suite {
	t.Helper()
	s := &suite{root: t.TempDir(), progress: t.Output()}
	if err := os.MkdirAll(s.build(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestArgv(t *testing.T) {
	test := Test{Dir: "d", Program: "p", Ranks: 4, Args: []string{"-a"}, MpiexecArgs: []string{"-x"}}
	for _, tc := range []struct {
		mode     string
		maxRanks int
		want     string
	}{
		{nativeMode, 0, "mpiexec.mpich -n 4 -x ./p -a"},
		{nativeMode, 2, "mpiexec.mpich -n 2 -x ./p -a"},
		{"flush", 8, "mpiexec.mpich -n 4 -x env LD_PRELOAD=/l.so CMPI_COHERENCE=flush CMPI_REQUIRE=1 CMPI_CHAOS=3 ./p -a"},
	} {
		r := runner{library: "/l.so", settings: []string{"CMPI_CHAOS=3"}, maxRanks: tc.maxRanks}
		if diff := cmp.Diff(tc.want, strings.Join(r.argv(test, tc.mode), " ")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tc.mode, diff)
		}
	}
}

func TestStart(t *testing.T) {
	r := runner{suite: emptySuite(t, "d")}
	run := func(limit time.Duration, script string, env ...string) (string, int, float64) {
		t.Helper()
		out, status, seconds, err := r.start(t.Context(), []string{"sh", "-c", script}, Test{Dir: "d", Env: env}, limit)
		if err != nil {
			t.Fatal(err)
		}
		return out, status, seconds
	}
	t.Setenv("LD_PRELOAD", "")
	out, status, _ := run(time.Minute, `echo "$A-$MPIEXEC_TIMEOUT-${LD_PRELOAD-unset}"; pwd; echo wrong >&2; exit 7`, "A=1")
	if want := "1-60-unset\n" + r.suite.build("d") + "\nwrong\n"; out != want || status != 7 {
		t.Errorf("got %q and %d, want %q and 7", out, status, want)
	}
	out, _, _ = run(time.Minute, "yes | head -c 100000")
	if len(out) > outputLimit+100 || !strings.Contains(out, strconv.Itoa(100000-outputLimit)+" bytes more") {
		t.Errorf("%d bytes kept, ending with %q", len(out), out[max(0, len(out)-40):])
	}
}

// TestStartLeavesNothing runs a starter that ends before what it started.
func TestStartLeavesNothing(t *testing.T) {
	r := runner{suite: emptySuite(t, "d")}
	out, _, _, err := r.start(t.Context(), []string{"sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!"}, Test{Dir: "d"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := process.Of(pid); err == nil {
		t.Errorf("process %d is still there", pid)
	}
}

// TestNatives keeps and finds outcomes.
func TestNatives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "native.json")
	n, err := openNatives(path)
	if err != nil {
		t.Fatal(err)
	}
	for key, o := range map[string]Outcome{
		"good": {Verdict: passed, Seconds: 2, Limit: 60},
		"bad":  {Verdict: failed, Why: "exit status 1", Seconds: 2, Limit: 60},
		"slow": {Verdict: failed, Why: "no end", Seconds: 60.1, Limit: 60, TimedOut: true},
	} {
		if err := n.keep(key, o); err != nil {
			t.Fatal(err)
		}
	}
	again, err := openNatives(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(n.outcomes, again.outcomes); diff != "" {
		t.Errorf("(-kept +read)\n%s", diff)
	}
	for _, tc := range []struct {
		key   string
		limit time.Duration
		want  bool
	}{
		{"good", time.Hour, true}, {"bad", time.Hour, true}, {"unknown", time.Hour, false},
		{"slow", 30 * time.Second, true}, {"slow", time.Minute, true}, {"slow", 2 * time.Minute, false},
	} {
		if _, ok := again.find(tc.key, tc.limit); ok != tc.want {
			t.Errorf("%s within %v: found %v, want %v", tc.key, tc.limit, ok, tc.want)
		}
	}
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openNatives(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that names the file", err)
	}
}
