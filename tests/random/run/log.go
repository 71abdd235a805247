package run

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"cmpi/tests/random/model"
	"cmpi/tests/random/program"
)

// The log of a rank is a file that the rank maps (executor/log.c), so that what
// it has written outlives it:
//
//	0        8     16    24             152      4096
//	+--------+-----+------+--------------+--------+-----------+--
//	| number | pid | case | at, 16 words | unused | record 0  | ...
//	+--------+-----+------+--------------+--------+-----------+--
//
// case is the one being executed, at the operation of each thread, the last word
// that of the epilogue.
const (
	logHeader  = 4096
	logThreads = 16
	recordSize = 64
)

// log is the log of one rank.
type log struct {
	path   string
	memory []byte
}

// newLog makes the file of a log with room for n records. It costs only what is
// used of it.
func newLog(path string, n int) (*log, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int64(logHeader + n*recordSize)
	if err := f.Truncate(size); err != nil {
		return nil, fmt.Errorf("making a log of %d bytes: %w", size, err)
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping a log: %w", err)
	}
	return &log{path, memory}, nil
}

func (l *log) close() {
	_ = unix.Munmap(l.memory)
	_ = os.Remove(l.path)
}

func (l *log) word(i int) int64 { return int64(binary.LittleEndian.Uint64(l.memory[8*i:])) }

func (l *log) pid() int { return int(l.word(1)) }

// running is the case that the rank executes, -1 before the first.
func (l *log) running() int {
	if l.pid() == 0 {
		return -1
	}
	return int(l.word(2))
}

// at is the operation that a thread executes, -1 before the first.
func (l *log) at(thread int) int {
	if thread == program.EpilogueThread {
		thread = logThreads - 1
	}
	return int(l.word(3 + thread))
}

// records are those of each case.
func (l *log) records(cases int) ([][]model.Record, error) {
	n := min(int(l.word(0)), (len(l.memory)-logHeader)/recordSize)
	list := make([]model.Record, n)
	if err := binary.Read(bytes.NewReader(l.memory[logHeader:]), binary.LittleEndian, list); err != nil {
		return nil, fmt.Errorf("reading a log: %w", err)
	}
	byCase := make([][]model.Record, cases)
	for _, r := range list {
		if r.Case >= 0 && int(r.Case) < cases {
			byCase[r.Case] = append(byCase[r.Case], r)
		}
	}
	return byCase, nil
}

// room is how many records a case may need at one rank.
func room(c *program.Case, rank int) int {
	n := 0
	for _, ops := range append(c.Threads[rank], c.Epilogue[rank]) {
		for _, op := range ops {
			// The operation, what it ends, a probe, a late change.
			n += 4 + len(op.Slots) + op.Count
		}
	}
	return n
}
