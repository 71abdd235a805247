package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ruleKind says what a line of known.txt claims.
type ruleKind string

const (
	// failsNatively: the host MPI fails the test, whoever runs it.
	failsNatively ruleKind = "native"
	// slowNatively: the host MPI does not end in time where its ranks outnumber
	// the cores. On a larger machine it may.
	slowNatively ruleKind = "slow"
	// excluded: the library cannot pass it, or need not; the reason names the
	// rule of the MPI standard.
	excluded ruleKind = "excluded"
)

// rule is one line of known.txt.
type rule struct {
	kind    ruleKind
	name    string   // directory and program
	ranks   int      // 0: any
	options []string // arg=... and env=...: all must be there
	modes   []string // of an excluded test; none: all
	reason  string
	line    int
}

// known is what known.txt says.
type known []rule

// parseKnown reads known.txt:
//
//	kind  directory/program [ranks] [arg=... | env=...]... [mode=NAME]... : reason
//
// Everything after a # at the start of a line is a comment. Whatever is not
// understood is an error, and so is a line without a reason.
func parseKnown(r io.Reader) (known, error) {
	var rules known
	scanner := bufio.NewScanner(r)
	for n := 1; scanner.Scan(); n++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		rule, err := parseRule(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		rule.line = n
		rules = append(rules, rule)
	}
	return rules, scanner.Err()
}

func parseRule(line string) (rule, error) {
	head, reason, ok := strings.Cut(line, " : ")
	words := strings.Fields(head)
	reason = strings.TrimSpace(reason)
	if !ok || reason == "" {
		return rule{}, fmt.Errorf(`no reason; write "kind directory/program : reason"`)
	}
	if len(words) < 2 || !strings.Contains(words[1], "/") {
		return rule{}, fmt.Errorf("no directory/program before the reason")
	}
	r := rule{kind: ruleKind(words[0]), name: words[1], reason: reason}
	switch r.kind {
	case failsNatively, slowNatively, excluded:
	default:
		return r, fmt.Errorf("unknown kind %q; there are: %s %s %s", r.kind, failsNatively, slowNatively, excluded)
	}
	for i, w := range words[2:] {
		key, value, isOption := strings.Cut(w, "=")
		switch {
		case !isOption && i == 0:
			n, err := strconv.Atoi(w)
			if err != nil || n < 1 {
				return r, fmt.Errorf("%q is not a number of processes", w)
			}
			r.ranks = n
		case isOption && (key == "arg" || key == "env") && value != "":
			r.options = append(r.options, w)
		case key == "mode" && r.kind == excluded && value != "":
			r.modes = append(r.modes, value)
		default:
			return r, fmt.Errorf("%q is not understood", w)
		}
	}
	return r, nil
}

// matches says whether the rule is about this test.
func (r rule) matches(t Test) bool {
	if r.name != t.Name() || r.ranks != 0 && r.ranks != t.Ranks {
		return false
	}
	have := t.options()
	for _, o := range r.options {
		if !slices.Contains(have, o) {
			return false
		}
	}
	return true
}

// exclusion finds the reason why a test need not pass in a mode.
func (k known) exclusion(t Test, mode string) (reason string, ok bool) {
	for _, r := range k {
		if r.kind == excluded && r.matches(t) && (len(r.modes) == 0 || slices.Contains(r.modes, mode)) {
			return r.reason, true
		}
	}
	return "", false
}

// nativeReason finds the reason why a test fails natively.
func (k known) nativeReason(t Test) (kind ruleKind, reason string) {
	for _, r := range k {
		if r.kind != excluded && r.matches(t) {
			return r.kind, r.reason
		}
	}
	return "", ""
}

// check finds rules about tests that do not exist. Only directories whose tests
// are given are looked at.
func (k known) check(tests []Test) error {
	dirs := map[string]bool{}
	for _, t := range tests {
		dirs[t.Dir] = true
	}
	for _, r := range k {
		dir := r.name[:strings.LastIndexByte(r.name, '/')]
		if dirs[dir] && !slices.ContainsFunc(tests, r.matches) {
			return fmt.Errorf("line %d: no test matches %s", r.line, r.name)
		}
	}
	return nil
}
