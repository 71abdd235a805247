package main

import (
	"fmt"
	"regexp"
	"strings"
)

// Lines that runtests takes for success, and those that it overlooks.
var (
	noErrorsLine = regexp.MustCompile(`^\s*No [Ee]rrors\s*$`)
	harmlessLine = regexp.MustCompile(`^\s*Test Passed\s*$|requesting checkpoint\s*$|checkpoint completed\s*$|FORTRAN STOP`)
	failureWord  = regexp.MustCompile(`FAILURE|Fatal error|BAD TERMINATION|(?m:^cmpi: )`)
)

// judge says why a run with this output and exit status failed; "" if it passed.
// The rules are those of the suite's runtests.
func judge(t Test, output string, status int) string {
	switch t.Judge {
	case testStatus, testErrFatal:
		if status == 0 {
			return "exit status 0, another was expected"
		}
		return ""
	case testStatusNoErrors:
		if why := judgeLines(output); why != "" {
			return why
		}
		if status == 0 {
			return "exit status 0, another was expected"
		}
		return ""
	case exitZero:
		if status != 0 {
			return fmt.Sprintf("exit status %d", status)
		}
		if w := failureWord.FindString(output); w != "" {
			return fmt.Sprintf("the output says %q", w)
		}
		for _, w := range t.Want {
			if !strings.Contains(output, w) {
				return fmt.Sprintf("the output lacks %q", w)
			}
		}
		return ""
	default:
		if why := judgeLines(output); why != "" {
			return why
		}
		if status != 0 {
			return fmt.Sprintf("exit status %d", status)
		}
		return ""
	}
}

// judgeLines wants "No Errors" and nothing else.
func judgeLines(output string) string {
	found := false
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case harmlessLine.MatchString(line):
		case noErrorsLine.MatchString(line) && !found:
			found = true
		default:
			return fmt.Sprintf("unexpected output %q", line)
		}
	}
	if !found {
		return `it did not say "No Errors"`
	}
	return ""
}
