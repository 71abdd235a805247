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

// outcome is how a step ended.
type outcome string

const (
	passed  outcome = "passed"
	failed  outcome = "failed"
	skipped outcome = "skipped" // what it builds on has failed
)

// record is one step's line in the report.
type record struct {
	Device  string  `json:"device"`
	Step    string  `json:"step"`
	Outcome outcome `json:"outcome"`
	Seconds float64 `json:"seconds"`
	Detail  string  `json:"detail"` // what was seen, or what was wrong
}

// report collects what the steps gave, shows it as it comes, and keeps a log.
type report struct {
	start    time.Time
	progress io.Writer
	log      io.Writer // of the device that is being tried
	records  []record
}

// say writes a line with the time since the start, for the reader who waits.
func (r *report) say(format string, args ...any) {
	line := fmt.Sprintf("%7.1f s  %s\n", time.Since(r.start).Seconds(), fmt.Sprintf(format, args...))
	fmt.Fprint(r.progress, line)
	r.logf("%s", line)
}

// logf writes to the log only.
func (r *report) logf(format string, args ...any) {
	if r.log != nil {
		fmt.Fprintf(r.log, format, args...)
	}
}

// logCommand writes a command of a guest and what it printed to the log.
func (r *report) logCommand(guest, script string, res result) {
	r.logf("%7.1f s  %s# %s\n%s%s", time.Since(r.start).Seconds(), guest, script, indent(res.stdout), indent(res.stderr))
	if err := res.err; err != nil {
		r.logf("           %v\n", err)
	} else if res.code != 0 {
		r.logf("           exit code %d\n", res.code)
	}
}

func indent(text string) string {
	if text == "" {
		return ""
	}
	return "           " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n           ") + "\n"
}

func (r *report) add(rec record) {
	r.records = append(r.records, rec)
	r.say("%-7s %-7s %6.1f s  %-22s %s", rec.Device, rec.Outcome, rec.Seconds, rec.Step, rec.Detail)
}

func (r *report) count(o outcome) (n int) {
	for _, rec := range r.records {
		if rec.Outcome == o {
			n++
		}
	}
	return n
}

// summary is the last line.
func (r *report) summary() string {
	s := fmt.Sprintf("%d passed, %d failed", r.count(passed), r.count(failed))
	if n := r.count(skipped); n > 0 {
		s += fmt.Sprintf(", %d skipped", n)
	}
	return s
}

// write puts the results into dir.
func (r *report) write(dir string) error {
	b, err := json.MarshalIndent(r.records, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "results.json"), append(b, '\n'), 0o644)
}
