package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// sample is what was seen at one moment at which no short job was there and the
// long job was at rest. Sizes are in bytes.
type sample struct {
	Seconds float64   `json:"seconds"` // since the start
	Rounds  int64     `json:"rounds"`  // of the long job
	Jobs    int       `json:"jobs"`
	Ranks   []process `json:"ranks"` // of the long job: the least over its rounds since the last sample
	Self    process   `json:"self"`  // this program, which opens the pool again and again
	Pool    pool      `json:"pool"`
	Shm     []string  `json:"shm"` // of our names in /dev/shm, in use by nobody
	Tmp     []string  `json:"tmp"` // in the jobs' folder for temporary files
}

// process is what one process has at one moment, or least over some.
type process struct {
	PID     int   `json:"pid"`
	RSS     int64 `json:"rss"`   // resident memory, of which
	Anon    int64 `json:"anon"`  // of its own
	File    int64 `json:"file"`  // of programs and libraries
	Shmem   int64 `json:"shmem"` // of the pool, of what neighbours share, and of the MPI library
	Threads int64 `json:"threads"`
	Files   int64 `json:"files"` // open
}

// fields are the numbers in a process.
var fields = []func(*process) *int64{
	func(p *process) *int64 { return &p.RSS },
	func(p *process) *int64 { return &p.Anon },
	func(p *process) *int64 { return &p.File },
	func(p *process) *int64 { return &p.Shmem },
	func(p *process) *int64 { return &p.Threads },
	func(p *process) *int64 { return &p.Files },
}

// pool is what the pool holds.
type pool struct {
	Used      int64 `json:"used"` // by objects
	Objects   int   `json:"objects"`
	Runs      int   `json:"runs"` // free pieces
	Hosts     int   `json:"hosts"`
	Allocated int64 `json:"allocated"` // by the file, metadata included
}

// sample looks at everything.
func (s *soak) sample(ctx context.Context) error {
	release, err := s.long.rest(ctx)
	if err != nil {
		return err
	}
	defer release()
	m := sample{Seconds: time.Since(s.started).Seconds(), Rounds: s.long.rounds.Load(), Jobs: s.counts.Jobs}
	m.Ranks = s.long.ranks()
	if m.Self, err = lookAt(os.Getpid()); err != nil {
		return err
	}
	stat, err := s.by.Arena().Stat()
	if err != nil {
		return err
	}
	m.Pool = pool{Used: stat.Used, Objects: stat.Objects, Runs: stat.Runs, Hosts: len(stat.Hosts)}
	var file syscall.Stat_t
	if err := syscall.Stat(s.Pool, &file); err != nil {
		return err
	}
	m.Pool.Allocated = file.Blocks * 512
	m.Shm, m.Tmp = s.files.left()
	s.record.Samples = append(s.record.Samples, m)
	return nil
}

// lookAt reads what the kernel says of a process.
func lookAt(pid int) (process, error) {
	p := process{PID: pid}
	names := map[string]*int64{"VmRSS": &p.RSS, "RssAnon": &p.Anon, "RssFile": &p.File, "RssShmem": &p.Shmem, "Threads": &p.Threads}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return p, err
	}
	found := 0
	for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		to := names[name]
		if to == nil {
			continue
		}
		number, unit, _ := strings.Cut(strings.TrimSpace(value), " ")
		if *to, err = strconv.ParseInt(number, 10, 64); err != nil {
			return p, fmt.Errorf("/proc/%d/status: %s: %w", pid, name, err)
		}
		if unit == "kB" {
			*to <<= 10
		}
		found++
	}
	if found != len(names) {
		return p, fmt.Errorf("/proc/%d/status has %d of %d fields", pid, found, len(names))
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	p.Files = int64(len(open))
	return p, err
}

// files finds what jobs leave in folders.
type files struct {
	pool, tmp string
	before    map[string]bool // what was there already
}

// Names of files in /dev/shm that the library makes, and that MPICH and UCX do.
var (
	ourNames   = []string{fmt.Sprintf("/dev/shm/cmpi-%d-*", os.Getuid())}
	otherNames = []string{"/dev/shm/mpich_shar_tmp*", "/dev/shm/ucx_shm_posix_*"}
)

func newFiles(pool, tmp string) files {
	f := files{pool, tmp, map[string]bool{}}
	for _, names := range [][]string{ourNames, otherNames} {
		for _, path := range list(names) {
			f.before[path] = true
		}
	}
	return f
}

func list(patterns []string) (paths []string) {
	for _, pattern := range patterns {
		found, _ := filepath.Glob(pattern)
		paths = append(paths, found...)
	}
	return paths
}

// left lists what was not there at the start and is in nobody's use: of our names
// in /dev/shm, and temporary files. Jobs of others may run on this machine.
func (f *files) left() (shm, tmp []string) {
	tmp, _ = filepath.Glob(f.tmp + "/*")
	return f.idle(ourNames), tmp
}

// tidy removes what MPICH and UCX leave in memory when a job is killed, which
// would be gigabytes after a while.
func (f *files) tidy() {
	for _, path := range f.idle(otherNames) {
		os.Remove(path)
	}
}

// idle lists the files of this user that are new and that no process has open or
// mapped.
func (f *files) idle(patterns []string) []string {
	paths := slices.DeleteFunc(list(patterns), func(path string) bool {
		st, err := os.Lstat(path)
		if err != nil || f.before[path] || path == f.pool {
			return true
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		return !ok || int(sys.Uid) != os.Getuid()
	})
	if len(paths) == 0 {
		return paths
	}
	used := map[string]bool{}
	// Open files come first: a file is mapped before it is closed.
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		if path, err := os.Readlink(link); err == nil {
			used[path] = true
		}
	}
	maps, _ := filepath.Glob("/proc/[0-9]*/maps")
	for _, m := range maps {
		b, _ := os.ReadFile(m)
		for _, path := range paths {
			if bytes.Contains(b, []byte(path)) {
				used[path] = true
			}
		}
	}
	return slices.DeleteFunc(paths, func(path string) bool { return used[path] })
}
