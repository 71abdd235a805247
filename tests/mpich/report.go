package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is all that a campaign found out.
type Report struct {
	Suite    string    `json:"suite"` // version of the source package
	Library  string    `json:"library"`
	Started  time.Time `json:"started"`
	Modes    []string  `json:"modes"`
	MaxRanks int       `json:"max_ranks,omitempty"`
	Rows     []Row     `json:"tests"`
}

// Row is one test in all modes.
type Row struct {
	Test Test           `json:"-"`
	ID   string         `json:"id"`
	Runs map[string]Run `json:"runs"` // by mode
}

// Run is an outcome with its comparison.
type Run struct {
	Outcome
	Class Class  `json:"class"`
	Note  string `json:"note,omitempty"` // known.txt's reason
}

// add takes the outcome in a mode. The native one comes first if there is one.
func (r *Row) add(k known, mode string, o Outcome) {
	if r.Runs == nil {
		r.Runs = map[string]Run{}
	}
	run := Run{Outcome: o}
	if mode == nativeMode {
		run.Class, run.Note = classifyNative(k, r.Test, o)
	} else {
		var native *Outcome
		if n, ok := r.Runs[nativeMode]; ok {
			native = &n.Outcome
		}
		run.Class, run.Note = classify(k, r.Test, mode, native, o)
	}
	r.Runs[mode] = run
}

// count says in how many runs of a mode something holds.
func (r *Report) count(dir, mode string, holds func(Run) bool) int {
	n := 0
	for _, row := range r.Rows {
		if run, ok := row.Runs[mode]; ok && (dir == "" || row.Test.Dir == dir) && holds(run) {
			n++
		}
	}
	return n
}

// seconds is the time of a mode over the tests that pass natively: what is
// stopped at a limit takes as long as the limit. Without native runs it is the
// time of all.
func (r *Report) seconds(dir, mode string) float64 {
	sum := 0.0
	for _, row := range r.Rows {
		native, compared := row.Runs[nativeMode]
		if (dir == "" || row.Test.Dir == dir) && (!compared || native.Verdict == passed) {
			sum += row.Runs[mode].Seconds
		}
	}
	return sum
}

// differences is how many runs make the campaign fail.
func (r *Report) differences() int {
	n := 0
	for _, m := range r.Modes {
		n += r.count("", m, func(run Run) bool { return run.Class == different })
	}
	return n
}

// dirs are the directories in the order in which they were run.
func (r *Report) dirs() []string {
	var dirs []string
	for _, row := range r.Rows {
		if !slices.Contains(dirs, row.Test.Dir) {
			dirs = append(dirs, row.Test.Dir)
		}
	}
	return dirs
}

// WriteText prints the table and what is behind its figures.
func (r *Report) WriteText(w io.Writer) {
	r.writeTable(w)
	r.writeList(w, "different: passes natively, fails over the library", different, true)
	r.writeList(w, "excluded by "+knownFile, accepted, false)
	r.writeList(w, "stale: "+knownFile+" says otherwise", stale, false)
	r.writeList(w, "fixed: fails natively, passes over the library", fixed, false)
	r.writeNativeFailures(w)
}

// writeTable prints a line per directory and their sum.
func (r *Report) writeTable(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "directory\ttests\tskipped\t")
	for _, m := range r.Modes {
		if m == nativeMode {
			fmt.Fprint(tw, "|\tnative\ts\t")
		} else {
			fmt.Fprintf(tw, "|\t%s\tfixed\tdiffer\texcluded\ts\t", m)
		}
	}
	fmt.Fprintln(tw)
	isClass := func(c Class) func(Run) bool { return func(run Run) bool { return run.Class == c } }
	for _, dir := range append(r.dirs(), "") {
		name := dir
		if name == "" {
			name = "all"
		}
		some := r.Modes[0]
		fmt.Fprintf(tw, "%s\t%d\t%d\t", name, r.count(dir, some, func(Run) bool { return true }), r.count(dir, some, isClass(notRun)))
		for _, m := range r.Modes {
			pass := r.count(dir, m, func(run Run) bool { return run.Verdict == passed })
			if m == nativeMode {
				fmt.Fprintf(tw, "|\t%d\t%.1f\t", pass, r.seconds(dir, m))
				continue
			}
			fmt.Fprintf(tw, "|\t%d\t%d\t%d\t%d\t%.1f\t", pass, r.count(dir, m, isClass(fixed)),
				r.count(dir, m, isClass(different)), r.count(dir, m, isClass(accepted)), r.seconds(dir, m))
		}
		fmt.Fprintln(tw)
	}
	tw.Flush()
	if slices.Contains(r.Modes, nativeMode) {
		fmt.Fprintln(w, "s: seconds of the tests that pass natively")
	}
}

// writeList prints the runs of one class.
func (r *Report) writeList(w io.Writer, title string, c Class, output bool) {
	for _, row := range r.Rows {
		for _, m := range r.Modes {
			run, ok := row.Runs[m]
			if !ok || run.Class != c {
				continue
			}
			if title != "" {
				fmt.Fprintf(w, "\n%s\n", title)
				title = ""
			}
			fmt.Fprintf(w, "  %s [%s] %.1f s", row.ID, m, run.Seconds)
			for _, s := range []string{run.Why, run.Note} {
				if s != "" {
					fmt.Fprintf(w, "; %s", s)
				}
			}
			fmt.Fprintln(w)
			if output && run.Output != "" {
				fmt.Fprint(w, indent(run.Output))
			}
		}
	}
}

// writeNativeFailures prints what the host MPI fails and known.txt does not list.
func (r *Report) writeNativeFailures(w io.Writer) {
	title := "\nfails natively, and " + knownFile + " does not say so\n"
	for _, row := range r.Rows {
		if run := row.Runs[nativeMode]; run.Verdict == failed && run.Note == "" {
			fmt.Fprint(w, title)
			title = ""
			fmt.Fprintf(w, "  %s: %s\n", row.ID, run.Why)
		}
	}
}

// WriteJSON writes everything.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(r)
}

// WriteTAP writes one line per run in the Test Anything Protocol. What fails
// natively too, or is excluded, is a "todo".
func (r *Report) WriteTAP(w io.Writer) error {
	var b strings.Builder
	n := 0
	for _, row := range r.Rows {
		for _, m := range r.Modes {
			run, ok := row.Runs[m]
			if !ok {
				continue
			}
			n++
			status, directive := "ok", ""
			switch {
			case run.Verdict == skipped:
				directive = " # SKIP " + run.Why
			case run.Verdict == failed && run.Class == different:
				status = "not ok"
			case run.Verdict == failed:
				status, directive = "not ok", " # TODO "+todo(m, run)
			}
			fmt.Fprintf(&b, "%s %d - %s [%s]%s\n", status, n, strings.ReplaceAll(row.ID, "#", `\#`), m, directive)
			if run.Verdict == failed {
				fmt.Fprintf(&b, "  ---\n  seconds: %.3f\n  why: %q\n  ...\n", run.Seconds, run.Why)
				for line := range strings.Lines(run.Output) {
					fmt.Fprintf(&b, "# %s\n", strings.TrimRight(line, "\n"))
				}
			}
		}
	}
	_, err := fmt.Fprintf(w, "TAP version 13\n1..%d\n%s", n, b.String())
	return err
}

// todo says why a failed run does not count.
func todo(mode string, run Run) string {
	switch {
	case run.Note != "":
		return run.Note
	case mode == nativeMode:
		return "the host MPI alone: " + run.Why
	default:
		return "fails natively, too"
	}
}

// JUnit's elements, as far as its readers agree on them.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Seconds float64       `xml:"time,attr"`
		Skipped *junitMessage `xml:"skipped"`
		Failure *junitMessage `xml:"failure"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes a test suite per directory and mode. What fails natively
// too, or is excluded, counts as skipped.
func (r *Report) WriteJUnit(w io.Writer) error {
	var all junitSuites
	for _, dir := range r.dirs() {
		for _, m := range r.Modes {
			suite := junitSuite{Name: dir + " [" + m + "]"}
			for _, row := range r.Rows {
				run, ok := row.Runs[m]
				if !ok || row.Test.Dir != dir {
					continue
				}
				c := junitCase{Class: suite.Name, Name: row.ID, Seconds: run.Seconds}
				switch {
				case run.Class == different:
					c.Failure = &junitMessage{run.Why, run.Output}
					suite.Failures++
				case run.Verdict == skipped:
					c.Skipped = &junitMessage{run.Why, ""}
					suite.Skipped++
				case run.Verdict == failed:
					c.Skipped = &junitMessage{todo(m, run), run.Output}
					suite.Skipped++
				}
				suite.Tests++
				suite.Cases = append(suite.Cases, c)
			}
			all.Suites = append(all.Suites, suite)
		}
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", " ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
