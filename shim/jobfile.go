package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// A pool file made for one job lives in shared memory under a name of our own
// and is unlinked as soon as all ranks have mapped it. Until then rank 0 holds
// an flock on it, so that what a job killed in between has left can be told from
// what a job is just making.

// jobFileDir is where shared memory files live on Linux.
const jobFileDir = "/dev/shm"

type jobFile struct {
	path string
	file *os.File // holds the lock
}

func jobFilePrefix() string { return "cmpi-" + strconv.Itoa(os.Getuid()) + "-" }

// newJobFile makes an empty file of a name that nobody else has.
func newJobFile() (*jobFile, error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, fmt.Errorf("no random numbers for a file name: %w", err)
	}
	j, err := lockedJobFile(filepath.Join(jobFileDir, jobFilePrefix()+hex.EncodeToString(random[:])))
	if err != nil {
		return nil, fmt.Errorf("%w; name another pool by CMPI_POOL", err)
	}
	return j, nil
}

// lockedJobFile makes an empty file at path and locks it.
func lockedJobFile(path string) (*jobFile, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, fmt.Errorf("making a pool file: %w", err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
			os.Remove(path)
			f.Close()
			return nil, fmt.Errorf("locking the pool file %s: %w", path, err)
		}
		// Between its creation and its lock someone may have swept it away.
		var st unix.Stat_t
		if unix.Fstat(int(f.Fd()), &st) == nil && st.Nlink > 0 {
			return &jobFile{path, f}, nil
		}
		f.Close()
	}
}

// fileSystem is the number of the file system that a directory lies on, the same
// for all that see the same one; 0 if there is none.
func fileSystem(dir string) uint64 {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return 0
	}
	return st.Dev
}

// unlink takes the name away. The memory lives as long as someone has it mapped.
func (j *jobFile) unlink() {
	os.Remove(j.path)
	j.file.Close()
}

// sweepJobFiles removes files that nobody holds: their jobs were killed while
// they started.
func sweepJobFiles() {
	paths, _ := filepath.Glob(filepath.Join(jobFileDir, jobFilePrefix()+"*"))
	for _, path := range paths {
		f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(int(f.Fd()), &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && int(st.Uid) == os.Getuid() &&
			unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			os.Remove(path)
		}
		f.Close()
	}
}
