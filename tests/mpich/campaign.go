package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// campaign runs the tests of some directories in some modes.
type campaign struct {
	runner      runner
	known       known
	dirs        []string
	only        *regexp.Regexp // of ID; nil: all
	modes       []string
	nativeAgain bool // run natively what has been run before
	repeat      int  // runs in each mode but the native one
	observe     func(done, total int, t Test, mode string, o *Outcome)
}

// run builds and runs everything. The report has what was done, even with an error.
func (c *campaign) run(ctx context.Context) (*Report, error) {
	r := &Report{Suite: c.runner.suite.version, Library: c.runner.library, Started: time.Now(), Modes: c.modes, MaxRanks: c.runner.maxRanks}
	tests, err := c.tests(ctx)
	if err != nil {
		return r, err
	}
	natives, err := openNatives(filepath.Join(c.runner.suite.root, "native.json"))
	if err != nil {
		return r, err
	}
	for _, m := range c.modes {
		if m == nativeMode {
			continue
		}
		if err := c.runner.probe(ctx, m); err != nil {
			return r, err
		}
	}
	for dir, group := range byDir(tests) {
		if err := c.runner.suite.make(ctx, group); err != nil {
			return r, fmt.Errorf("%s: %w", dir, err)
		}
	}
	for i, t := range tests {
		row := Row{Test: t, ID: t.ID()}
		for _, m := range c.modes {
			c.observe(i, len(tests), t, m, nil)
			o, err := c.one(ctx, t, m, natives)
			if err != nil {
				return r, err
			}
			row.add(c.known, m, o)
			c.observe(i, len(tests), t, m, &o)
		}
		r.Rows = append(r.Rows, row)
	}
	return r, nil
}

// tests are the chosen tests in the order of the directories.
func (c *campaign) tests(ctx context.Context) ([]Test, error) {
	var all, chosen []Test
	for _, dir := range c.dirs {
		tests, err := c.runner.suite.tests(ctx, dir)
		if err != nil {
			return nil, err
		}
		all = append(all, tests...)
	}
	if err := c.known.check(all); err != nil {
		return nil, fmt.Errorf("%s, %w", knownFile, err)
	}
	for _, t := range all {
		if c.only == nil || c.only.MatchString(t.ID()) {
			chosen = append(chosen, t)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no test was chosen")
	}
	return chosen, nil
}

// one runs a test in a mode, as often as asked for and until it fails.
func (c *campaign) one(ctx context.Context, t Test, mode string, natives *natives) (o Outcome, err error) {
	if mode != nativeMode {
		for range c.repeat {
			if o, err = c.runner.run(ctx, t, mode); err != nil || o.Verdict != passed {
				break
			}
		}
		return o, err
	}
	key := fmt.Sprintf("%s @%d", t.ID(), c.runner.ranks(t))
	if c.runner.lab != nil {
		key += fmt.Sprintf(" in %d hosts", len(c.runner.lab.Hosts))
	}
	if o, ok := natives.find(key, c.runner.limit); ok && !c.nativeAgain {
		return o, nil
	}
	if o, err = c.runner.run(ctx, t, mode); err != nil || o.Verdict == skipped {
		return o, err
	}
	return o, natives.keep(key, o)
}

// byDir groups tests.
func byDir(tests []Test) map[string][]Test {
	m := map[string][]Test{}
	for _, t := range tests {
		m[t.Dir] = append(m[t.Dir], t)
	}
	return m
}

// natives are the native outcomes of earlier runs, in a file of the suite: the
// host MPI does not change, and its time-outs take most of the time.
type natives struct {
	path     string
	outcomes map[string]Outcome
}

func openNatives(path string) (*natives, error) {
	n := &natives{path: path, outcomes: map[string]Outcome{}}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return n, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &n.outcomes)
	}
	if err != nil {
		return nil, fmt.Errorf("native results of earlier runs: %w; remove %s", err, path)
	}
	return n, nil
}

// find returns an earlier outcome unless more time could change it.
func (n *natives) find(key string, limit time.Duration) (Outcome, bool) {
	o, ok := n.outcomes[key]
	return o, ok && !(o.TimedOut && o.Verdict == failed && o.Limit < limit.Seconds())
}

// keep stores an outcome at once: a campaign may be stopped at any time.
func (n *natives) keep(key string, o Outcome) error {
	n.outcomes[key] = o
	text, err := json.MarshalIndent(n.outcomes, "", " ")
	if err != nil {
		return err
	}
	aside := n.path + ".new"
	if err := os.WriteFile(aside, text, 0o644); err != nil {
		return err
	}
	return os.Rename(aside, n.path)
}

// modes that the library knows, besides the native one.
var libraryModes = []string{"coherent", "flush", "uncached", "emulate"}

// checkModes refuses a mode that neither we nor the library know.
func checkModes(modes []string) error {
	for _, m := range modes {
		if m != nativeMode && !slices.Contains(libraryModes, m) {
			return fmt.Errorf("no mode %q; there are: %s %v", m, nativeMode, libraryModes)
		}
	}
	return nil
}
