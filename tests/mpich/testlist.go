package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// defaultRanks is the number of processes of a line that gives none.
const defaultRanks = 2

// resultTest names a rule by which a run is judged (judge.go).
type resultTest string

// The rules that a testlist can name. The empty one is the ordinary rule.
const (
	noErrors           resultTest = ""
	testStatus         resultTest = "TestStatus"
	testStatusNoErrors resultTest = "TestStatusNoErrors"
	testErrFatal       resultTest = "TestErrFatal"
	exitZero           resultTest = "ExitZero" // ours, for programs that never say "No Errors"
)

// Test is one line of a testlist.
type Test struct {
	Dir         string // below the suite's root, as "threads/pt2pt"
	Program     string
	Ranks       int
	Args        []string
	Env         []string // NAME=value
	MpiexecArgs []string
	Judge       resultTest
	Limit       time.Duration // 0: the runner's own
	Memory      float64       // GB that the run needs; 0: not worth mentioning
	Xfail       []string      // why MPICH expects it to fail: tickets
	Want        []string      // texts that must be in the output (exitZero only)
}

// Name is the test's directory and program.
func (t Test) Name() string { return t.Dir + "/" + t.Program }

// ID tells the test from all others of the suite: its line without what only
// says how it is to be judged.
func (t Test) ID() string {
	return strings.Join(append([]string{t.Name(), strconv.Itoa(t.Ranks)}, t.options()...), " ")
}

// options are the arguments and variables as a testlist writes them.
func (t Test) options() []string {
	var o []string
	for _, a := range t.Args {
		o = append(o, "arg="+a)
	}
	for _, e := range t.Env {
		o = append(o, "env="+e)
	}
	return o
}

// parseTestlist reads a directory's testlist:
//
//	program [ranks [key=value ...]]   # comment
//
// The keys are those that the suite's runtests reads, and "want", a text that
// the output must contain, with _ for a space. A word without = is skipped, as
// runtests does (pt2pt/testlist has some). A key that nobody knows is an error.
func parseTestlist(r io.Reader, dir string) ([]Test, error) {
	var tests []Test
	seen := map[string]bool{}
	scanner := bufio.NewScanner(r)
	for n := 1; scanner.Scan(); n++ {
		line, _, _ := strings.Cut(scanner.Text(), "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		t, err := parseTest(words, dir)
		if err != nil {
			return nil, fmt.Errorf("testlist of %s, line %d: %w", dir, n, err)
		}
		if id := t.ID(); !seen[id] { // a line may stand there twice
			seen[id] = true
			tests = append(tests, t)
		}
	}
	return tests, scanner.Err()
}

func parseTest(words []string, dir string) (Test, error) {
	t := Test{Dir: dir, Program: words[0], Ranks: defaultRanks}
	if strings.HasPrefix(t.Program, "!") {
		return t, fmt.Errorf("%s: building support by a line of its own is not understood", t.Program)
	}
	if len(words) == 1 {
		return t, nil
	}
	var err error
	if t.Ranks, err = strconv.Atoi(words[1]); err != nil || t.Ranks < 1 {
		return t, fmt.Errorf("%q is not a number of processes", words[1])
	}
	for _, w := range words[2:] {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			continue
		}
		if err := t.set(key, value); err != nil {
			return t, fmt.Errorf("%s: %w", w, err)
		}
	}
	return t, nil
}

// set takes one key of a line.
func (t *Test) set(key, value string) (err error) {
	switch key {
	case "arg":
		t.Args = append(t.Args, value)
	case "env":
		if !strings.Contains(value, "=") {
			return fmt.Errorf("not NAME=value")
		}
		t.Env = append(t.Env, value)
	case "mpiexecarg":
		t.MpiexecArgs = append(t.MpiexecArgs, value)
	case "timeLimit":
		var seconds int
		if seconds, err = strconv.Atoi(value); err == nil {
			t.Limit = time.Duration(seconds) * time.Second
		}
	case "mem":
		t.Memory, err = strconv.ParseFloat(value, 64)
	case "xfail":
		t.Xfail = append(t.Xfail, value)
	case "want":
		t.Want = append(t.Want, strings.ReplaceAll(value, "+", " "))
	case "resultTest":
		switch j := resultTest(value); j {
		case testStatus, testStatusNoErrors, testErrFatal, exitZero:
			t.Judge = j
		default:
			return fmt.Errorf("unknown rule")
		}
	case "strict", "mpix", "mpiversion", "lock":
		// What they rule out or order is not so here: the suite is not configured
		// as strict, MPICH is of its own version, tests run one at a time.
	default:
		return fmt.Errorf("unknown key")
	}
	return err
}
