package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// basicDir is the directory of the suite that has no testlist; basicList is ours.
const basicDir = "basic"

//go:embed basic.testlist
var basicList string

// The program that shows whether the library carries messages, and a text that
// it sends from rank 0 to rank 1.
var probeTest = Test{Dir: basicDir, Program: "sendrecv", Ranks: 2, Judge: exitZero}

const probeText = "Hello process one."

// probe verifies that messages go through the library in a mode: it says so at
// start, and a text that a program sends is found in the pool afterwards. All
// passes in that mode would mean nothing otherwise.
func (r *runner) probe(ctx context.Context, mode string) error {
	if err := r.suite.ready(ctx, probeTest.Dir); err != nil {
		return err
	}
	if err := r.suite.make(ctx, []Test{probeTest}); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("/dev/shm", "cmpi-mpich-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	pool := filepath.Join(dir, "pool")
	probing := *r
	// The fixed size bounds what has to be searched.
	probing.settings = append([]string{"CMPI_VERBOSE=1", "CMPI_POOL=" + pool, "CMPI_POOL_SIZE=16M"}, r.settings...)
	output, status, _, err := probing.start(ctx, probing.argv("mpiexec.mpich", probeTest, mode), probeTest, time.Minute)
	if err != nil {
		return err
	}
	said := regexp.MustCompile(`(?m)^cmpi: 2 ranks over .*, ` + regexp.QuoteMeta(mode) + ` mode$`)
	memory, err := os.ReadFile(pool)
	switch {
	case status != 0 || !strings.Contains(output, probeText):
		return fmt.Errorf("%s over the library in %s mode: exit status %d\n%s", probeTest.Name(), mode, status, indent(output))
	case !said.MatchString(output):
		return fmt.Errorf("the library is not active in %s mode:\n%s", mode, indent(output))
	case err != nil:
		return err
	case !bytes.Contains(memory, []byte(probeText)):
		return fmt.Errorf("the library is active in %s mode, but the message of %s did not pass through the pool", mode, probeTest.Name())
	}
	return nil
}
