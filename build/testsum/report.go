package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// status is how a test ended.
type status string

const (
	passed  status = "pass"
	failed  status = "fail"
	skipped status = "skip"
)

// test is one test that has ended.
type test struct {
	stage   string
	name    string
	status  status
	seconds float64
	output  string // of a failed test: all it printed; of a skipped one: its reason
}

// report collects the tests of all stages. Its methods print progress.
type report struct {
	start   time.Time
	current string
	tests   []test
}

// stage begins a stage.
func (r *report) stage(name string) {
	r.current = name
	fmt.Printf("== %s\n", name)
}

// add records a test of the current stage and prints its output if it failed.
func (r *report) add(t test) {
	t.stage = r.current
	r.tests = append(r.tests, t)
	if t.status == failed {
		fmt.Printf("FAILED %s: %s\n%s\n", t.stage, t.name, indent(t.output))
	}
}

// progress prints one line about a group of tests that has ended.
func (r *report) progress(name string, since time.Time, detail string) {
	fmt.Printf("   %-40s %6.1f s  %s\n", name, time.Since(since).Seconds(), detail)
}

// count says how many tests ended that way.
func (r *report) count(s status) int {
	n := 0
	for _, t := range r.tests {
		if t.status == s {
			n++
		}
	}
	return n
}

// summary prints what was skipped and failed, and the closing line.
func (r *report) summary(w io.Writer) {
	fmt.Fprintf(w, "== summary, %.0f s\n", time.Since(r.start).Seconds())
	for _, s := range []status{skipped, failed} {
		for _, t := range r.tests {
			if t.status != s {
				continue
			}
			line := fmt.Sprintf("%s %s: %s", s, t.stage, t.name)
			if s == skipped && t.output != "" {
				line += " (" + t.output + ")"
			}
			fmt.Fprintln(w, line)
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", r.count(passed), r.count(failed), r.count(skipped))
}

// writeFiles writes tests.tap and tests.json into dir.
func (r *report) writeFiles(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var tap, js strings.Builder
	fmt.Fprintf(&tap, "TAP version 13\n1..%d\n", len(r.tests))
	enc := json.NewEncoder(&js)
	for i, t := range r.tests {
		name := strings.ReplaceAll(t.stage+": "+t.name, "#", `\#`)
		switch t.status {
		case passed:
			fmt.Fprintf(&tap, "ok %d - %s\n", i+1, name)
		case skipped:
			fmt.Fprintf(&tap, "ok %d - %s # SKIP %s\n", i+1, name, t.output)
		case failed:
			fmt.Fprintf(&tap, "not ok %d - %s\n%s\n", i+1, name, strings.ReplaceAll("# "+t.output, "\n", "\n# "))
		}
		line := struct {
			Stage   string  `json:"stage"`
			Name    string  `json:"name"`
			Status  status  `json:"status"`
			Seconds float64 `json:"seconds"`
			Output  string  `json:"output,omitempty"`
		}{t.stage, t.name, t.status, t.seconds, t.output}
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "tests.tap"), []byte(tap.String()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "tests.json"), []byte(js.String()), 0o644)
}

// indent sets text off from the lines around it.
func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}
