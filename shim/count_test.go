package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cmpi/stats"
)

// command builds cmpi and returns its path.
func command(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cmpi")
	if out, err := exec.Command("go", "build", "-o", path, "../cmd/cmpi").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestStats: the counters of a job are right while it runs, in its own pool and in
// a named one, and its last line sums them up.
func TestStats(t *testing.T) {
	program, cmpi := compile(t, "counted.c"), command(t)
	for _, tc := range []struct {
		name  string
		env   []string
		named bool
		fast  bool // the fast path in C takes part
	}{
		{"coherent", []string{"CMPI_COHERENCE=coherent"}, false, true},
		{"coherent, no fast path", []string{"CMPI_COHERENCE=coherent", "CMPI_FAST=0"}, false, false},
		{"coherent, named", []string{"CMPI_COHERENCE=coherent"}, true, true},
		{"flush, named", []string{"CMPI_COHERENCE=flush"}, true, false},
		{"emulate", []string{"CMPI_COHERENCE=emulate"}, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			hold, pool := filepath.Join(dir, "hold"), ""
			if err := os.WriteFile(hold, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			env := append([]string{"CMPI_STATS=1", "CMPI_REQUIRE=1"}, tc.env...)
			if tc.named {
				pool = filepath.Join(dir, "pool")
				env = append(env, "CMPI_POOL="+pool, "CMPI_POOL_SIZE=64M")
			}
			ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
			defer cancel()
			job := exec.CommandContext(ctx, "mpiexec.mpich", append(append([]string{"-n", "2", "env", "LD_PRELOAD=" + library}, env...), program, hold)...)
			job.WaitDelay = time.Second
			var stderr strings.Builder
			job.Stderr = &stderr
			stdout, err := job.StdoutPipe()
			if err == nil {
				err = job.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			if line, _ := bufio.NewReader(stdout).ReadString('\n'); line != "counted\n" {
				job.Wait()
				t.Fatalf("%q %s", line, stderr.String())
			}
			look(t, cmpi, pool, tc.fast)
			os.Remove(hold)
			if err := job.Wait(); err != nil {
				t.Fatalf("%v: %s", err, stderr.String())
			}
			// The windows' own making and end are messages, too.
			last := regexp.MustCompile(`^cmpi: 2 ranks: [0-9]+ messages, .* \(.*staged 2.*\); [0-9]+ unexpected; 2 puts, 10 B; 2 gets, 6 B; 4 updates, 32 B\n$`)
			if !last.MatchString(stderr.String()) {
				t.Errorf("last words %q", stderr.String())
			}
			if out, err := exec.Command(cmpi, "stats", "--pool", pool).CombinedOutput(); err == nil || pool != "" && !strings.Contains(string(out), "no running job counts in "+pool) {
				t.Errorf("when it is over: %v, %s", err, out)
			}
		})
	}
}

// publishWait is how long counters may take to be seen, on a loaded machine.
const publishWait = 20 * time.Second

// look compares what the command shows of the running job with what it has done.
func look(t *testing.T, cmpi, pool string, fast bool) {
	t.Helper()
	type pairs struct {
		small   int // sent, at least: windows are made by messages as well
		staged  stats.Traffic
		puts    stats.Traffic
		gets    stats.Traffic
		updates stats.Traffic
	}
	want := pairs{20, stats.Traffic{Count: 1, Bytes: 40000}, stats.Traffic{Count: 1, Bytes: 5}, stats.Traffic{Count: 1, Bytes: 3}, stats.Traffic{Count: 2, Bytes: 16}}
	var problem string
	for end := time.Now().Add(publishWait); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var j stats.Job
		out, err := exec.Command(cmpi, "stats", "--json", "--pool", pool).Output()
		if err == nil {
			err = json.Unmarshal(out, &j)
		}
		if err != nil {
			if pool == "" && strings.Contains(string(err.(*exec.ExitError).Stderr), "several jobs") {
				t.Skip("another job counts on this machine")
			}
			t.Fatalf("%v %s", err, out)
		}
		problem = ""
		if len(j.Ranks) != 2 {
			t.Fatalf("%d ranks", len(j.Ranks))
		}
		for r := range j.Ranks {
			p := &j.Ranks[r].With[1-r]
			got := pairs{want.small, p.Staged, p.Puts, p.Gets, p.Updates}
			if d := cmp.Diff(want, got, cmp.AllowUnexported(pairs{})); d != "" {
				problem = fmt.Sprintf("rank %d (-want +got)\n%s", r, d)
			}
			if n := int(p.Eager.Count + p.Fast.Count); n < want.small || n > want.small+20 {
				problem = fmt.Sprintf("rank %d has sent %d small messages", r, n)
			}
			// Rank 1 is at the window's end already, and rank 0 is not.
			if in := j.Ranks[1-r].With[r].Received; p.Sent().Count-in.Count > 1 || in.Bytes != p.Sent().Bytes {
				problem = fmt.Sprintf("rank %d has sent %+v, of which %+v were received", r, p.Sent(), in)
			}
			if (p.Fast.Count > 0) != fast {
				problem = fmt.Sprintf("%d messages by the fast path", p.Fast.Count)
			}
		}
		if problem == "" {
			return
		}
	}
	t.Error(problem)
}

// TestStatsKilled: a job that is killed leaves nothing; in a named pool its
// counters are not taken for those of a running job, but can be had by name.
func TestStatsKilled(t *testing.T) {
	program, cmpi := compile(t, "ends.c"), command(t)
	pool := filepath.Join(t.TempDir(), "pool")
	r := run(t, []string{"LD_PRELOAD=" + library, "CMPI_STATS=1", "CMPI_POOL=" + pool, "CMPI_POOL_SIZE=64M"}, "mpiexec.mpich", "-n", "2", program, "kill")
	if r.timedOut || r.status == 0 {
		t.Fatalf("%+v", r)
	}
	if files := jobFiles(t); len(files) > 0 {
		t.Errorf("left behind: %q", files)
	}
	out, err := exec.Command(cmpi, "stats", "--pool", pool).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no running job counts") {
		t.Errorf("%v, %s", err, out)
	}
	jobs, err := stats.Read(pool)
	if err != nil || len(jobs) != 1 || jobs[0].Running() {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	out, err = exec.Command(cmpi, "stats", "--pool", pool, jobs[0].Name).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "rank 1 has died") {
		t.Errorf("%v, %s", err, out)
	}
}
