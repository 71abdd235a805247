package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// options is what the command line says to all stages.
type options struct {
	fuzzTime time.Duration
}

// stage is one part of the test run.
type stage struct {
	name string
	run  func(*report, options)
}

// stages in the order in which they run: the fast and general ones first.
var stages = []stage{
	{"lint", lint},
	{"unit", unit},
	{"race", race},
	{"fuzz", fuzz},
	{"programs", programs},
	{"product", product},
}

// testTimeout ends a package's tests that hang. The slowest package, with all
// programs in all modes, takes a few minutes on two cores.
const testTimeout = "600s"

// lint checks form: formatting, vet, staticcheck, and that the parts which
// exist for other processors compile there.
func lint(r *report, _ options) {
	r.command("gofmt", "sh", "-c", `bad=$(gofmt -l $(git ls-files '*.go' 2>/dev/null || find . -name '*.go')); echo "$bad"; test -z "$bad"`)
	r.command("vet", "go", "vet", "./...")
	r.command("staticcheck", "go", "tool", "staticcheck", "./...")
	r.command("vet arm64", "env", "GOARCH=arm64", "CGO_ENABLED=0", "go", "vet", "./flush/...", "./arena/...", "./ringq/...", "./mpitransport/...", "./stats/...")
	r.command("shell syntax", "sh", "-n", "build/setup")
}

// unit runs the Go tests of all packages but those of the MPI programs.
func unit(r *report, _ options) {
	pkgs, err := packages(func(p pkg) bool { return p.hasTests && !p.isProgram() })
	if err != nil {
		r.add(test{name: "list packages", status: failed, output: err.Error()})
		return
	}
	r.goTest(append([]string{"-timeout", testTimeout}, pkgs...)...)
}

// race runs the tests of the packages without cgo under the race detector.
func race(r *report, _ options) {
	pkgs, err := packages(func(p pkg) bool { return p.hasTests && !p.cgo && !p.isProgram() && !p.isTool() })
	if err != nil {
		r.add(test{name: "list packages", status: failed, output: err.Error()})
		return
	}
	r.goTest(append([]string{"-race", "-timeout", testTimeout}, pkgs...)...)
}

// fuzz runs every fuzz target for a fixed time.
func fuzz(r *report, o options) {
	pkgs, err := packages(func(p pkg) bool { return p.hasTests && !p.cgo && !p.isProgram() })
	if err != nil {
		r.add(test{name: "list packages", status: failed, output: err.Error()})
		return
	}
	for _, p := range pkgs {
		out, err := exec.Command("go", "test", "-list", "^Fuzz", p).Output()
		if err != nil {
			r.add(test{name: p, status: failed, output: fmt.Sprintf("listing its fuzz targets: %v\n%s", err, out)})
			continue
		}
		for _, target := range strings.Fields(string(out)) {
			if strings.HasPrefix(target, "Fuzz") {
				r.commandAgain(short(p)+" "+target, fuzzerLate, "go", "test", "-run", "^$", "-fuzz", "^"+target+"$",
					"-fuzztime", o.fuzzTime.String(), "-parallel", "2", p)
			}
		}
	}
}

// fuzzerLate reports that a fuzz run failed on a busy machine because the end of its
// time came while its workers were busy: go calls that a failure, without an input
// that fails.
func fuzzerLate(out string) bool {
	return strings.Contains(out, "context deadline exceeded") && !strings.Contains(out, "Failing input")
}

// programs runs the MPI programs in tests/, natively and over the library, and
// the C examples.
func programs(r *report, _ options) {
	pkgs, err := packages(func(p pkg) bool { return p.hasTests && p.isProgram() })
	if err != nil {
		r.add(test{name: "list packages", status: failed, output: err.Error()})
		return
	}
	if len(pkgs) == 0 {
		return
	}
	// Each package starts several ranks; one package at a time is enough for any machine.
	r.goTest(append([]string{"-p", "1", "-timeout", testTimeout}, pkgs...)...)
}

// product tries what a user is given: the commands of the README and the
// installed files.
func product(r *report, _ options) {
	r.command("demo", "make", "-s", "demo")
	r.command("bench --quick", "build/out/cmpi", "bench", "--quick", "--out", "build/out/bench-quick")
	r.command("install", "sh", "build/test-install.sh")
}

// pkg is what the stages must know of a Go package.
type pkg struct {
	path     string
	cgo      bool
	hasTests bool
}

// isProgram says whether the package drives MPI programs.
func (p pkg) isProgram() bool {
	return strings.HasPrefix(short(p.path), "tests/") || strings.HasPrefix(short(p.path), "c/")
}

// isTool says whether the package belongs to the commands around the library,
// which share no memory with anyone.
func (p pkg) isTool() bool {
	return strings.HasPrefix(short(p.path), "build/") || strings.HasPrefix(short(p.path), "cmd/") || short(p.path) == "bench"
}

// packages lists the import paths of the packages that keep approves.
func packages(keep func(pkg) bool) ([]string, error) {
	const format = `{{.ImportPath}} {{len .CgoFiles}} {{len .TestGoFiles}} {{len .XTestGoFiles}}`
	cmd := exec.Command("go", "list", "-f", format, "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	var keptPaths []string
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		f := strings.Fields(line)
		if len(f) != 4 {
			return nil, fmt.Errorf("go list: unexpected line %q", line)
		}
		p := pkg{path: f[0], cgo: f[1] != "0", hasTests: f[2] != "0" || f[3] != "0"}
		if keep(p) {
			keptPaths = append(keptPaths, p.path)
		}
	}
	return keptPaths, nil
}

// short is an import path without the module's name.
func short(path string) string {
	_, rest, _ := strings.Cut(path, "/")
	return rest
}

// chooseStages finds the stages with the given names; all when there are none.
func chooseStages(names []string) ([]stage, error) {
	if len(names) == 0 {
		return stages, nil
	}
	var chosen []stage
	for _, n := range names {
		found := false
		for _, s := range stages {
			if s.name == n {
				chosen, found = append(chosen, s), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no stage %q; there are: %s", n, strings.Join(stageNames(), " "))
		}
	}
	return chosen, nil
}

func stageNames() []string {
	names := make([]string, len(stages))
	for i, s := range stages {
		names[i] = s.name
	}
	return names
}
