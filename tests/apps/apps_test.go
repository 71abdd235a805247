package apps

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cmpi/tests/job"
)

var full = flag.Bool("full", false, "run everything, minutes")

// app is one run of a program, to be repeated natively and in several modes.
type app struct {
	name  string
	ranks []int
	modes []job.Mode // beside native
	slow  bool       // only under -full
	frail bool       // it judges itself, and natively fails now and then
	limit time.Duration

	// prepare fills a run's own folder with input and gives the command line.
	prepare func(t *testing.T, dir string) []string
	env     []string

	// result picks what every run of the program must have in common. It fails if
	// the program itself noticed a mistake.
	result func(dir string, r job.Result) (any, error)
	equal  []cmp.Option // beside being the same
}

// need skips the test if a file isn't there that a Debian package has.
func need(t *testing.T, pkg, file string) {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		t.Skipf("%s is not installed (build/setup --apps installs it): %v", pkg, err)
	}
	job.Require(t, job.Mpiexec)
	job.Library(t)
}

// test runs those of the apps that are chosen, in all their modes.
func test(t *testing.T, apps []app) {
	t.Helper()
	if !*full {
		apps = slices.DeleteFunc(apps, func(a app) bool { return a.slow })
	}
	if len(apps) == 0 {
		t.Skip("it takes minutes: only under -full (make apps)")
	}
	for _, a := range apps {
		t.Run(a.name, func(t *testing.T) {
			for _, n := range a.ranks {
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					want, native := a.run(t, job.Native, n)
					if !native && !a.frail {
						t.Fatal("the native run failed")
					}
					for _, m := range a.modes {
						t.Run(string(m), func(t *testing.T) {
							got, ok := a.run(t, m, n)
							if d := cmp.Diff(want, got, a.equal...); native && ok && d != "" {
								t.Errorf("native (-) and over the library (+):\n%s", d)
							}
						})
					}
				})
			}
		})
	}
}

// run runs the app once, in a folder of its own.
func (a app) run(t *testing.T, m job.Mode, ranks int) (result any, ok bool) {
	t.Helper()
	dir := t.TempDir()
	j := job.Job{Program: a.prepare(t, dir), Ranks: ranks, Mode: m, Dir: dir, Env: a.env, Limit: a.limit}
	r := j.Run()
	if m == job.Native && a.frail && !r.OK() {
		t.Logf("nothing to compare with: natively %v", r)
		return nil, false
	}
	if m == job.Native && r.Err != nil { // on a busy machine its waiting ranks stand in each other's way
		t.Skipf("nothing to compare with: natively %v", r.Err)
	}
	if !r.OK() {
		t.Errorf("%v: %v", j, r)
		return nil, false
	}
	result, err := a.result(dir, r)
	if err != nil && m == job.Native && a.frail {
		t.Logf("nothing to compare with: natively %v", err)
		return nil, false
	}
	if err != nil {
		t.Errorf("%v: %v: %v", j, err, r)
		return nil, false
	}
	t.Logf("%s: %.1f s", m, r.Elapsed.Seconds())
	return result, true
}

// lines are the lines that have something on them, with single spaces.
func lines(text string) (list []string) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 0 {
			list = append(list, strings.Join(f, " "))
		}
	}
	return list
}

// copyFiles copies the files that match the patterns into a folder.
func copyFiles(t *testing.T, dir string, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			t.Fatalf("there is no %s", pattern)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, filepath.Base(f)), b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Modes that most programs run in.
var (
	usual = []job.Mode{job.Coherent, job.Flush}
	all   = []job.Mode{job.Coherent, job.Flush, job.Emulate}
)
