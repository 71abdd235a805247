package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmpi/tests/process"
)

// Dir has a folder for each lab.
const Dir = "/run/cmpi-lab"

// stateFile is where a lab's folder says what there is.
const stateFile = "lab.json"

// write stores the lab's state for other processes.
func (l *Lab) write() error {
	text, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return err
	}
	aside := l.path(stateFile + ".new")
	if err := os.WriteFile(aside, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(aside, l.path(stateFile))
}

// path is a file of the lab's folder.
func (l *Lab) path(name string) string { return filepath.Join(Dir, l.Name, name) }

// Open finds a running lab by name. The error is os.ErrNotExist if there is none.
func Open(name string) (*Lab, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	l := &Lab{Name: name}
	text, err := os.ReadFile(l.path(stateFile))
	if err != nil {
		return nil, fmt.Errorf("no lab %s: %w", name, err)
	}
	if err := json.Unmarshal(text, l); err != nil || l.Name != name {
		return nil, fmt.Errorf("%s is damaged (%v); take lab %s down", l.path(stateFile), err, name)
	}
	return l, nil
}

// mark is the variable that names the lab in the environment of its processes.
// Of processes in hosts only those are found by it that kept their environment;
// the others end with their host.
const mark = "CMPILAB"

// endLimit is how long killed processes may take to disappear. A process 1 waits
// for all of its namespace, and those may have a pool of GiBs to unmap.
const endLimit = 20 * time.Second

// Names are the names of all labs of this machine, leftovers included.
func Names() []string {
	var names []string
	entries, _ := os.ReadDir(Dir) // no folder: no labs
	for _, e := range entries {
		names = append(names, e.Name())
	}
	marked, _ := process.Marked(mark)
	for name := range marked {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// beingMade is how old a folder without a state may be before it is a leftover.
const beingMade = time.Minute

// isLeftover says whether nobody will miss the lab: who made it has ended
// without taking it down, or while making it.
func isLeftover(name string) bool {
	l, err := Open(name)
	if errors.Is(err, os.ErrNotExist) {
		info, err := os.Stat(filepath.Join(Dir, name))
		return err != nil || time.Since(info.ModTime()) > beingMade
	}
	if err != nil {
		return true
	}
	if l.Owner.PID != 0 {
		return !l.Owner.Alive()
	}
	return !l.Head.Alive()
}

// Sweep takes down the labs that their owners have left behind, and returns
// their names.
func Sweep() ([]string, error) {
	var swept []string
	var errs []error
	for _, name := range Names() {
		if isLeftover(name) {
			swept = append(swept, name)
			errs = append(errs, Down(name))
		}
	}
	return swept, errors.Join(errs...)
}

// Down ends a lab in whatever state it is and removes everything of it. That
// there is no such lab is no error.
func Down(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	l, openErr := Open(name)
	if err := process.EndMarked(mark, name, endLimit); err != nil {
		return err
	}
	var errs []error
	if openErr == nil && l.MadePool {
		if err := os.Remove(l.Pool); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, os.RemoveAll(filepath.Join(Dir, name)))...)
}

// checkName keeps names usable as file names and in command lines.
func checkName(name string) error {
	valid := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
	}
	if name == "" || len(name) > 40 || strings.ContainsFunc(name, func(r rune) bool { return !valid(r) }) {
		return fmt.Errorf("%q is no name for a lab: write up to 40 letters, digits, - and _", name)
	}
	return nil
}
