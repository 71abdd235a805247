package stats

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"cmpi/arena"
	"cmpi/flush"
)

// Read gives all jobs that count: in the pool at path, or with path empty in the
// pools that running jobs have made for themselves, which have no name but among
// the open files of their ranks. So it leaves nothing behind and finds nothing
// that is over. Only processes that the caller may look into are seen: their own
// user's.
func Read(path string) ([]Job, error) {
	if path != "" {
		return readPool(arena.Config{Path: path})
	}
	var jobs []Job
	for _, p := range unnamedPools("/proc") {
		more, err := readPool(arena.Config{Path: p, Unlinked: true})
		if err != nil {
			continue // it has ended since, or is another's
		}
		jobs = append(jobs, more...)
	}
	return jobs, nil
}

// readPool opens a pool, reads, and lets go of it.
func readPool(c arena.Config) ([]Job, error) {
	c.Mode = flush.Flush // right whatever the job's own mode is
	a, err := arena.Open(c)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	jobs, err := Jobs(a)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Path, err)
	}
	return jobs, nil
}

// poolPrefix and deleted are how the kernel shows the file of a job's own pool
// among a rank's open files (shim/jobfile.go makes and unlinks it).
const (
	poolPrefix = "/dev/shm/cmpi-"
	deleted    = " (deleted)"
)

// unnamedPools finds one path for each such file.
func unnamedPools(proc string) (paths []string) {
	type file struct{ dev, ino uint64 }
	seen := map[file]bool{}
	links, _ := filepath.Glob(filepath.Join(proc, "[1-9]*/fd/*")) // the pattern is right
	for _, l := range links {
		to, err := os.Readlink(l)
		if err != nil || !strings.HasPrefix(to, poolPrefix) || !strings.HasSuffix(to, deleted) {
			continue
		}
		var st unix.Stat_t
		if unix.Stat(l, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || seen[file{st.Dev, st.Ino}] {
			continue
		}
		seen[file{st.Dev, st.Ino}] = true
		paths = append(paths, l)
	}
	return paths
}
