package mpitransport

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"
	"unsafe"

	"cmpi/arena"
	"cmpi/flush"
	"cmpi/mpitransport/datatype"
	"cmpi/ringq"
)

var modes = []flush.Mode{flush.Coherent, flush.Flush, flush.Uncached, flush.Emulate}

var byteType = datatype.Bytes(1)

// job is a job whose ranks are goroutines, each with its own mapping (in
// emulate mode its own cache) of one pool file.
type job struct {
	t      testing.TB
	path   string
	size   int
	mode   flush.Mode
	seed   uint64
	shape  Config // what the ranks have in common
	host   func(rank int) [16]byte
	mixed  bool // ranks of one host have memory of their own
	config func(rank int, c *Config)
	pool   int64
}

func newJob(t testing.TB, size int, mode flush.Mode) *job {
	return &job{t: t, path: filepath.Join(shmDir(t), "pool"), size: size, mode: mode, seed: 1, pool: 16 << 20,
		host: func(int) [16]byte { return [16]byte{1} }}
}

// run starts the ranks, each of which executes body and then finalizes, and
// fails the test with the first error.
func (j *job) run(body func(e *Endpoint, world *Comm) error) {
	j.t.Helper()
	errs := make([]error, j.size)
	var wg sync.WaitGroup
	for r := range j.size {
		wg.Go(func() { errs[r] = j.rank(r, body) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		j.t.Fatalf("%v, seed %d: %v", j.mode, j.seed, err)
	}
}

func (j *job) rank(r int, body func(e *Endpoint, world *Comm) error) error {
	a, err := arena.Open(arena.Config{Path: j.path, Size: j.pool, Create: true, Mode: j.mode, HostID: j.host(r),
		Flush: flush.Options{Seed: j.seed + uint64(r)*1000, Chaos: 5}})
	if err != nil {
		return err
	}
	defer a.Close()
	c := j.shape
	if j.mixed {
		near, err := arena.Open(arena.Config{Path: fmt.Sprintf("%s-%d", j.path, j.host(r)[0]), Size: j.pool, Create: true, HostID: j.host(r)})
		if err != nil {
			return err
		}
		defer near.Close()
		c.Near = near
		for i := range j.size {
			if j.host(i) == j.host(r) {
				c.Neighbours = append(c.Neighbours, int32(i))
			}
		}
	}
	c.Rank, c.Size, c.Arena, c.Job, c.Host = r, j.size, a, "test", j.host(r)
	c.Timeout = 30 * time.Second
	c.LocalRanks = 1000 // the ranks share the processors of the test
	if j.config != nil {
		j.config(r, &c)
	}
	e, err := New(c)
	if err != nil {
		return err
	}
	ranks := make([]int32, j.size)
	for i := range ranks {
		ranks[i] = int32(i)
	}
	world := e.NewComm(1, r, ranks, nil)
	done := make(chan error, 1)
	go func() { done <- body(e, world) }()
	select {
	case err = <-done:
	case <-time.After(60 * time.Second):
		err = errors.New("hangs")
	}
	if err != nil {
		return fmt.Errorf("rank %d: %w", r, err)
	}
	if err := e.Finalize(); err != nil {
		return fmt.Errorf("rank %d: finalize: %w", r, err)
	}
	return nil
}

func ptr(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

func pattern(n, salt int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*131 + i>>8*7 + salt)
	}
	return b
}

func check(b []byte, salt int) error {
	for i := range b {
		if want := byte(i*131 + i>>8*7 + salt); b[i] != want {
			return fmt.Errorf("byte %d of %d is %#x, want %#x", i, len(b), b[i], want)
		}
	}
	return nil
}

// send and recv are the blocking calls with an error instead of a class.
func send(e *Endpoint, c *Comm, b []byte, dest, tag int, m Mode) error {
	if cl := e.Send(c, ptr(b), int64(len(b)), byteType, int32(dest), int32(tag), m); cl != OK {
		return fmt.Errorf("send of %d bytes to %d: %w", len(b), dest, cl)
	}
	return nil
}

func recv(e *Endpoint, c *Comm, b []byte, src, tag int) (Status, error) {
	var st Status
	if cl := e.Recv(c, ptr(b), int64(len(b)), byteType, int32(src), int32(tag), &st); cl != OK {
		return st, fmt.Errorf("receive of %d bytes from %d: %w", len(b), src, cl)
	}
	return st, nil
}

// shapes are the configurations that every exchange is tried with.
var shapes = map[string]Config{
	"default":   {},
	"one copy":  {SingleCopyMin: 1, EagerLimit: 8 << 10},
	"tiny ring": {RingLines: 8, SeqBits: 4, EagerLimit: 100},
	"paper":     {Ring: ringq.Cell, RingLines: 256},
	"two copy":  {NoSingleCopy: true},
	"window":    {NoSingleCopy: true, StageLimit: 1},
	"all eager": {EagerLimit: 128 << 10},
}

// eachShape runs body in every mode and shape.
func eachShape(t *testing.T, size int, body func(t *testing.T, j *job)) {
	for _, m := range modes {
		for name, s := range shapes {
			t.Run(fmt.Sprintf("%v/%s", m, name), func(t *testing.T) {
				j := newJob(t, size, m)
				j.shape = s
				body(t, j)
			})
		}
	}
}
