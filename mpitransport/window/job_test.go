package window

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
	"unsafe"

	"cmpi/arena"
	"cmpi/flush"
	"cmpi/mpitransport/datatype"
)

func shmDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "cmpi-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// shape is what a test is repeated with.
type shape struct {
	mode       flush.Mode
	domains    int // ranks are dealt to them in turn
	lineWrites bool
	contiguous bool
	shared     bool
	threaded   bool
	chaos      int
	seed       uint64
}

func (s shape) String() string {
	str := fmt.Sprintf("%v-%dd", s.mode, s.domains)
	for _, f := range []struct {
		on   bool
		name string
	}{{s.lineWrites, "-lines"}, {s.contiguous, "-contig"}, {s.shared, "-shared"}, {s.threaded, "-threaded"}} {
		if f.on {
			str += f.name
		}
	}
	return str
}

// shapes cover every mode, one and several domains, and both ways to write
// pieces of lines.
var shapes = []shape{
	{mode: flush.Coherent, domains: 1},
	{mode: flush.Coherent, domains: 1, contiguous: true, threaded: true},
	{mode: flush.Coherent, domains: 2},
	{mode: flush.Flush, domains: 2},
	{mode: flush.Flush, domains: 3, lineWrites: true},
	{mode: flush.Flush, domains: 2, contiguous: true},
	{mode: flush.Uncached, domains: 2},
	{mode: flush.Emulate, domains: 1, chaos: 5},
	{mode: flush.Emulate, domains: 2, chaos: 5},
	{mode: flush.Emulate, domains: 4, chaos: 20},
	{mode: flush.Emulate, domains: 2, chaos: 5, lineWrites: true},
	{mode: flush.Emulate, domains: 3, chaos: 10, lineWrites: true, contiguous: true},
	{mode: flush.Emulate, domains: 2, chaos: 5, contiguous: true, shared: true},
}

// job is a window whose members are goroutines. Members of one domain share a
// View, as processes of one host share its caches.
type job struct {
	t       testing.TB
	s       shape
	n       int
	size    func(rank int) int64
	unit    func(rank int) int32
	pool    int64
	alive   func(world int32) bool
	wants   Class
	name    string
	arenas  []*arena.Arena
	timeout time.Duration
	left    bool // members still run after a failure
}

func newJob(t testing.TB, n int, s shape) *job {
	j := &job{t: t, s: s, n: n, pool: 16 << 20, name: "w", timeout: 60 * time.Second,
		size: func(int) int64 { return 4096 }, unit: func(int) int32 { return 1 }}
	if j.s.seed == 0 {
		j.s.seed = 1
	}
	path := filepath.Join(shmDir(t), "pool")
	for d := range s.domains {
		a, err := arena.Open(arena.Config{Path: path, Size: j.pool, Create: true, Mode: s.mode, HostID: [16]byte{1, byte(d)},
			Flush: flush.Options{Seed: j.s.seed + uint64(d)*1000, Chaos: s.chaos, AllowNoCacheControl: true}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if !j.left { // members that still run must not find the pool unmapped
				_ = a.Close()
			}
		})
		j.arenas = append(j.arenas, a)
	}
	return j
}

// barrier is one that goroutines can pass any number of times.
type barrier struct {
	mu   sync.Mutex
	cond *sync.Cond
	n    int
	in   int
	turn int
}

func newBarrier(n int) *barrier {
	b := &barrier{n: n}
	b.cond = sync.NewCond(&b.mu)
	return b
}

func (b *barrier) wait() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	turn := b.turn
	if b.in++; b.in == b.n {
		b.in = 0
		b.turn++
		b.cond.Broadcast()
		return nil
	}
	for turn == b.turn {
		b.cond.Wait()
	}
	return nil
}

func (j *job) config(rank int, bar *barrier) Config {
	c := Config{Arena: j.arenas[rank%j.s.domains], Name: j.name, Rank: rank, Contiguous: j.s.contiguous, Shared: j.s.shared,
		LineWrites: j.s.lineWrites, Threaded: j.s.threaded, Barrier: bar.wait, Alive: j.alive}
	for r := range j.n {
		c.Members = append(c.Members, Member{World: int32(r), Domain: int32(10 + r%j.s.domains), Size: j.size(r), DispUnit: j.unit(r)})
	}
	return c
}

// run makes the window, lets every member execute body, and frees it.
func (j *job) run(body func(w *Window, barrier func()) error) {
	j.t.Helper()
	bar := newBarrier(j.n)
	errs := make(chan error, j.n)
	for r := range j.n {
		go func() { errs <- j.member(r, bar, body) }()
	}
	late := time.After(j.timeout)
	for range j.n {
		select {
		case err := <-errs:
			if err != nil {
				j.left = true
				j.t.Fatalf("%v, seed %d: %v", j.s, j.s.seed, err)
			}
		case <-late:
			j.left = true
			j.t.Fatalf("%v, seed %d: hangs", j.s, j.s.seed)
		}
	}
}

func (j *job) member(r int, bar *barrier, body func(w *Window, barrier func()) error) error {
	w, c := Create(j.config(r, bar))
	if c != j.wants {
		return fmt.Errorf("rank %d: create: %w", r, c)
	}
	if c != OK {
		return nil
	}
	if err := body(w, func() { _ = bar.wait() }); err != nil {
		return fmt.Errorf("rank %d: %w", r, err)
	}
	if c := w.Free(); c != OK {
		return fmt.Errorf("rank %d: free: %w", r, c)
	}
	return nil
}

// eachShape runs body once for each shape.
func eachShape(t *testing.T, n int, body func(t *testing.T, j *job)) {
	for _, s := range shapes {
		t.Run(s.String(), func(t *testing.T) { body(t, newJob(t, n, s)) })
	}
}

func ptr(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

var byteType = datatype.Bytes(1)

func data(b []byte) Data { return Data{ptr(b), int64(len(b)), byteType} }

func place(rank int, disp, n int64) Place { return Place{rank, disp, n, byteType} }

// must turns the first class that isn't OK into an error.
func must(cs ...Class) error {
	for i, c := range cs {
		if c != OK {
			return fmt.Errorf("call %d: %w", i, c)
		}
	}
	return nil
}

func pattern(n, salt int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*131 + i>>8*7 + salt)
	}
	return b
}

// direct is a rank's segment as this process loads and stores it.
func direct(w *Window, rank int) []byte {
	base, size, _ := w.Base(rank)
	return unsafe.Slice((*byte)(base), size)
}

func value[T any](x T) unsafe.Pointer { return unsafe.Pointer(&x) }
