package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// basicDir is the directory of the suite that has no testlist; basicList is ours.
const basicDir = "basic"

//go:embed basic.testlist
var basicList string

// probeTest shows whether the library carries messages: it sends some texts back
// and forth as often as its argument says, which takes long enough to look.
var probeTest = Test{Dir: basicDir, Program: "sendrecv", Ranks: 2, Args: []string{"500"}, Judge: exitZero}

// probeText is in each of its messages, short and long.
var probeText = []byte("process one.")

// probePool is the size of the pool while it is searched, over and over.
const probePool = 32 << 20

// probeLimit is many times what the program takes: in emulate mode on a machine
// with more to do, most of a minute.
const probeLimit = 3 * time.Minute

// probeTries is how often it is run until a message was seen.
const probeTries = 5

// probe verifies that messages go through the library in a mode: it says so at
// start, and what a program sends is seen in the pool while it runs. All passes
// in that mode would mean nothing otherwise.
func (r *runner) probe(ctx context.Context, mode string) error {
	if err := r.suite.ready(ctx, probeTest.Dir); err != nil {
		return err
	}
	if err := r.suite.make(ctx, []Test{probeTest}); err != nil {
		return err
	}
	probing := *r
	// What the kernel copies from process to process would not be seen.
	probing.settings = append(slices.Clone(r.settings), "CMPI_VERBOSE=1", "CMPI_SINGLE_COPY=off")
	var pool string
	if r.lab != nil {
		small, err := newLab(ctx, len(r.lab.Hosts), probePool, r.lab.Keep)
		if err != nil {
			return err
		}
		defer small.Down()
		probing.lab, pool = small, small.Pool
	} else {
		dir, err := os.MkdirTemp("/dev/shm", "cmpi-mpich-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		pool = filepath.Join(dir, "pool")
		probing.settings = append(probing.settings, "CMPI_POOL="+pool, "CMPI_POOL_SIZE="+strconv.Itoa(probePool))
	}
	var (
		output  string
		status  int
		err     error
		carried bool
	)
	// The message is there for moments: on a busy machine a look can miss it.
	for try := 0; try < probeTries && !carried && status == 0 && err == nil; try++ {
		watchCtx, stop := context.WithCancel(ctx)
		seen := make(chan bool, 1)
		go func() { seen <- watch(watchCtx, pool, probeText) }()
		output, status, _, err = probing.start(ctx, probing.argv(probeTest, mode), probeTest, probeLimit)
		stop()
		carried = <-seen
	}
	said := regexp.MustCompile(`cmpi: 2 ranks over .*, ` + regexp.QuoteMeta(mode) + ` mode`) // the ranks' lines mix
	switch {
	case err != nil:
		return err
	case status != 0:
		return fmt.Errorf("%s over the library in %s mode: exit status %d\n%s", probeTest.Name(), mode, status, indent(output))
	case !said.MatchString(output):
		return fmt.Errorf("the library is not active in %s mode:\n%s", mode, indent(output))
	case !carried:
		return fmt.Errorf("the library is active in %s mode, but no message of %s was seen in the pool", mode, probeTest.Name())
	}
	return nil
}

// watch looks for a text in a file that others write, until it is found or the
// context ends.
func watch(ctx context.Context, path string, text []byte) bool {
	for ctx.Err() == nil {
		content, err := os.ReadFile(path) // it is not there at first
		if err == nil && bytes.Contains(content, text) {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}
