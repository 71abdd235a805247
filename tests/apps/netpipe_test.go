package apps

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"cmpi/tests/job"
)

// netPIPE is where Debian's netpipe-mpich2 has its program.
const netPIPE = "/usr/bin/NPmpich2"

// TestNetPIPE bounces messages of growing size, with the receives and sends that
// the options choose. With -i the program verifies what it receives. More than
// two ranks would only wait in barriers. (Its options -z and -B hang or fail
// natively.)
func TestNetPIPE(t *testing.T) {
	need(t, "netpipe-mpich2", netPIPE)
	var apps []app
	for _, p := range []struct {
		options string
		slow    bool
	}{
		{"-i", false},      // MPI_Send and MPI_Recv
		{"-i -a", true},    // receives posted in advance
		{"-i -S", false},   // synchronous sends
		{"-i -O3,5", true}, // odd addresses
		{"", true},         // without the check, many messages
		{"-a -2", true},    // both directions at once
		{"-s", true},       // one direction
	} {
		apps = append(apps, app{
			name:  strings.TrimSpace("NPmpich2 " + p.options),
			ranks: []int{2},
			modes: all,
			slow:  p.slow,
			limit: 3 * time.Minute,
			prepare: func(*testing.T, string) []string {
				args := []string{netPIPE, "-o", "np.out", "-n", "10", "-u", "300000"}
				return append(args, strings.Fields(p.options)...)
			},
			result: netPIPEResult,
		})
	}
	test(t, apps)
}

// measured is a time or a rate.
var measured = regexp.MustCompile(`[0-9]+\.[0-9]+`)

// netPIPEResult is what stands in the program's table, and in its file, without
// times.
func netPIPEResult(dir string, r job.Result) (any, error) {
	if strings.Contains(r.Stderr, "failed") {
		return nil, errors.New("the integrity check failed")
	}
	file, err := os.ReadFile(filepath.Join(dir, "np.out"))
	if err != nil {
		return nil, err
	}
	head, table, ok := strings.Cut(r.Stderr, "Now starting the main loop")
	if !ok {
		return nil, errors.New("no table")
	}
	// The first lines come from both ranks, in any order; rank 1's may stand
	// anywhere in rank 0's table.
	for line := range strings.Lines(head) {
		table = strings.ReplaceAll(table, line, "")
	}
	return lines(measured.ReplaceAllString(table+string(file), "#")), nil
}
