package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// event is one line of go test -json (see go doc test2json).
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build-output
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

// goTest runs go test with the given arguments and adds its tests.
func (r *report) goTest(args ...string) {
	start := time.Now()
	cmd := exec.Command("go", append([]string{"test", "-json", "-count=1"}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.add(test{name: "go test", status: failed, output: err.Error()})
		return
	}
	c := newCollector(r, start)
	readErr := c.read(pipe)
	err = cmd.Wait()
	switch {
	case readErr != nil:
		r.add(test{name: "go test -json", status: failed, output: readErr.Error()})
	case err != nil && !c.sawFailure:
		// For example an unknown flag: no event tells of it.
		r.add(test{name: "go test", status: failed, output: err.Error() + "\n" + stderr.String()})
	}
}

// collector turns the events of one go test run into tests. A test that has
// subtests counts only if it failed while none of them did.
type collector struct {
	r          *report
	start      time.Time
	packages   map[string]*packageRun
	builds     map[string]string // output of builds by import path
	sawFailure bool
}

// packageRun is the state of one package's tests.
type packageRun struct {
	start  time.Time
	output string // what belongs to no test
	order  []string
	tests  map[string]*testRun
}

type testRun struct {
	status  status // "" while it runs
	seconds float64
	output  string
}

func newCollector(r *report, start time.Time) *collector {
	return &collector{r: r, start: start, packages: map[string]*packageRun{}, builds: map[string]string{}}
}

// read takes all events from in.
func (c *collector) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil {
				c.take(e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *collector) take(e event) {
	if e.Action == "build-output" {
		c.builds[e.ImportPath] += e.Output
		return
	}
	if e.Package == "" {
		return
	}
	p := c.packages[e.Package]
	if p == nil {
		p = &packageRun{start: time.Now(), tests: map[string]*testRun{}}
		c.packages[e.Package] = p
	}
	if e.Test == "" {
		switch e.Action {
		case "output":
			p.output += e.Output
		case "pass", "fail", "skip":
			c.endPackage(e, p)
		}
		return
	}
	t := p.tests[e.Test]
	if t == nil {
		t = &testRun{}
		p.tests[e.Test] = t
		p.order = append(p.order, e.Test)
	}
	switch e.Action {
	case "output":
		t.output += e.Output
	case "pass", "fail", "skip":
		t.status, t.seconds = status(e.Action), e.Elapsed
	}
}

// endPackage adds the tests of a package that has ended.
func (c *collector) endPackage(e event, p *packageRun) {
	counts := map[status]int{}
	hasSubtests := map[string]bool{}
	failedBelow := map[string]bool{} // tests of which a subtest failed
	for _, name := range p.order {
		// All levels: t.Run("a/b", ...) makes a grandchild without a child.
		for parent, ok := parentOf(name); ok; parent, ok = parentOf(parent) {
			hasSubtests[parent] = true
			failedBelow[parent] = failedBelow[parent] || p.tests[name].status == failed
		}
	}
	for _, name := range p.order {
		t := p.tests[name]
		full := short(e.Package) + " " + name
		if t.status == "" { // the process ended while it ran
			t.status = failed
			t.output += "(it did not end)\n" + p.output
		}
		if hasSubtests[name] && (t.status != failed || failedBelow[name]) {
			continue
		}
		counts[t.status]++
		out := ""
		switch t.status {
		case failed:
			out = t.output
		case skipped:
			out = skipReason(t.output)
		}
		c.r.add(test{name: full, status: t.status, seconds: t.seconds, output: out})
	}
	detail := "ok"
	if e.Action == "fail" {
		c.sawFailure = true
		detail = "FAILED"
		if counts[failed] == 0 { // it did not build, or died outside any test
			counts[failed]++
			c.r.add(test{name: short(e.Package), status: failed, output: c.builds[e.FailedBuild] + p.output})
		}
	}
	detail += fmt.Sprintf("  %d passed", counts[passed])
	for _, s := range []status{failed, skipped} {
		if counts[s] > 0 {
			detail += fmt.Sprintf(", %d %sed", counts[s], strings.Replace(string(s), "skip", "skipp", 1))
		}
	}
	c.r.progress(short(e.Package), p.start, detail)
}

// parentOf is the test that a subtest belongs to.
func parentOf(name string) (string, bool) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", false
	}
	return name[:i], true
}

// logLine is a line that testing prints for t.Skip and t.Log.
var logLine = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)$`)

// skipReason finds in a skipped test's output what it said last.
func skipReason(output string) string {
	reason := ""
	for _, line := range strings.Split(output, "\n") {
		if m := logLine.FindStringSubmatch(line); m != nil {
			reason = m[1]
		}
	}
	return reason
}
