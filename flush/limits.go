package flush

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file measures what the memory and the CPU allow, for benchmark programs
// to set beside what the library reaches.

// Sample is one row of a measurement.
type Sample struct {
	Method      string
	Size        int       // bytes moved per operation
	Nanoseconds []float64 // one figure per repetition, per operation (one way for a ping-pong)
	Skipped     string    // why there are no figures; empty if there are
}

// GBPerSecond returns the rates of the repetitions, in 1e9 bytes per second.
func (s Sample) GBPerSecond() []float64 {
	r := make([]float64, len(s.Nanoseconds))
	for i, ns := range s.Nanoseconds {
		r[i] = float64(s.Size) / ns
	}
	return r
}

// ErrOneCPU means that a ping-pong was asked for where only one CPU is allowed.
var ErrOneCPU = errors.New("a line ping-pong needs two CPUs")

// minimumBytes is what one repetition moves at least, in as many operations as
// it takes: the clock costs some 30 ns, a 64-byte operation some 100.
const minimumBytes = 256 << 10

// timed fills in the repetitions of a sample, after one to warm up.
func timed(method string, size, reps int, op func()) Sample {
	s := Sample{Method: method, Size: size}
	n := max(1, minimumBytes/max(size, 1))
	for rep := range reps + 1 {
		start := time.Now()
		for range n {
			op()
		}
		if rep > 0 {
			s.Nanoseconds = append(s.Nanoseconds, float64(time.Since(start).Nanoseconds())/float64(n))
		}
	}
	return s
}

// scratch returns size bytes of shared anonymous memory, rounded up to pages,
// and what frees it.
func scratch(size int) (m []byte, free func(), err error) {
	m, err = unix.Mmap(-1, 0, max(size, LineSize)+unix.Getpagesize()&^(LineSize-1), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_ANON|unix.MAP_POPULATE)
	if err != nil {
		return nil, nil, fmt.Errorf("mapping %d bytes to measure on: %w", size, err)
	}
	return m, func() { unix.Munmap(m) }, nil // the mapping is ours: unmapping it cannot fail
}

// Figure11 repeats figure 11 of the cMPI paper (SC '25): how long a memset of
// shared memory takes until it is out of the caches, by method and size. It
// works on mem, or on anonymous memory if mem is nil; the row "uncached" needs
// a mapping of that type in uncached. Sizes are rounded up to whole lines.
func Figure11(mem, uncached []byte, sizes []int, reps int) ([]Sample, error) {
	most := LineSize
	for _, n := range sizes {
		most = max(most, wholeLines(n))
	}
	if mem == nil {
		m, free, err := scratch(most)
		if err != nil {
			return nil, err
		}
		defer free()
		mem = m
	}
	if _, err := NewView(mem, Coherent, Options{}); err != nil {
		return nil, err
	}
	source := make([]byte, most) // what the streaming methods store: a memset's zeros
	var samples []Sample
	for _, n := range sizes {
		n = wholeLines(n)
		lines := n / LineSize
		dst, src := unsafe.Pointer(unsafe.SliceData(mem)), unsafe.Pointer(unsafe.SliceData(source))
		flushed := func(op uintptr) func() {
			return func() {
				clear(mem[:n])
				cacheLines(op, dst, lines)
				storeFence()
			}
		}
		for _, m := range []struct {
			method  string
			op      func()
			skipped string
		}{
			{"memset", func() { clear(mem[:n]) }, ""},
			{"memset+clflush", flushed(cacheFlush), lacking(caps.CLFLUSH, "clflush")},
			{"memset+clflushopt", flushed(cacheFlushOpt), lacking(caps.CLFLUSHOPT, "clflushopt")},
			{"memset+clwb", flushed(cacheWriteBack), lacking(caps.CLWB, "clwb")},
			{"movdir64b", func() {
				putLines(publishDirect, dst, src, lines, 0)
				storeFence()
			}, lacking(caps.MOVDIR64B, "movdir64b")},
			{"streaming", func() {
				streamLines(bestStream(false), dst, src, lines)
				storeFence()
			}, lacking(bestStream(false) != streamNone, "streaming stores")},
			{"uncached", func() {
				clear(uncached[:n])
				storeFence()
			}, uncachedSkip(uncached, n)},
		} {
			if len(mem) < n {
				m.skipped = fmt.Sprintf("the memory has only %d bytes", len(mem))
			}
			if m.skipped != "" {
				samples = append(samples, Sample{Method: m.method, Size: n, Skipped: m.skipped})
				continue
			}
			samples = append(samples, timed(m.method, n, reps, m.op))
		}
	}
	return samples, nil
}

// wholeLines rounds n up to whole lines, at least one.
func wholeLines(n int) int { return max(LineSize, (n+LineSize-1)&^(LineSize-1)) }

// lacking says why a method is skipped, or nothing.
func lacking(has bool, what string) string {
	if has {
		return ""
	}
	return "this CPU or build has no " + what
}

func uncachedSkip(uncached []byte, n int) string {
	if len(uncached) < n {
		return "no uncached mapping of that size was given (root makes one with /proc/mtrr)"
	}
	return ""
}

// CopyLimits measures how fast size bytes move between private and shared
// memory (mem, or anonymous memory if nil): plain memcpy both ways, and the
// primitives of a View in the given mode.
func CopyLimits(mem []byte, mode Mode, o Options, size, reps int) ([]Sample, error) {
	lines := (size + LinePayload - 1) / LinePayload
	if mem == nil {
		m, free, err := scratch(lines * LineSize)
		if err != nil {
			return nil, err
		}
		defer free()
		mem = m
	}
	if len(mem) < lines*LineSize {
		return nil, fmt.Errorf("%w: %d bytes for %d flagged lines", ErrShared, len(mem), lines)
	}
	v, err := NewView(mem, mode, o)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	private := make([]byte, size)
	shared, p := v.Base(), unsafe.Pointer(unsafe.SliceData(private))
	// Lines for GetLines and the check of them come last: copies overwrite them.
	return []Sample{
		timed("memcpy in", size, reps, func() { copy(mem, private) }),
		timed("memcpy out", size, reps, func() { copy(private, mem) }),
		timed("copy in", size, reps, func() { v.CopyIn(shared, p, size); v.Fence() }),
		timed("copy out", size, reps, func() { v.CopyOut(p, shared, size) }),
		timed("lines in", size, reps, func() { v.PutLines(shared, p, size, 1); v.Fence() }),
		timed("lines out, fresh", size, reps, func() {
			v.Invalidate(shared, lines*LineSize)
			v.GetLines(p, shared, size, 1)
		}),
	}, nil
}

// PingPong measures the one-way time of a flagged line between two threads
// pinned to the first two CPUs that this process may use: the limit for any
// message in that mode. The threads share mem (two pages of anonymous memory
// if nil), each through a View of its own. A repetition is rounds round trips.
func PingPong(mem []byte, mode Mode, o Options, rounds, reps int) (Sample, error) {
	if mem == nil {
		m, free, err := scratch(pingPongBytes)
		if err != nil {
			return Sample{}, err
		}
		defer free()
		mem = m
	}
	if len(mem) < pingPongBytes {
		return Sample{}, fmt.Errorf("%w: a ping-pong needs %d bytes", ErrShared, pingPongBytes)
	}
	var views [2]*View
	for i := range views {
		v, err := NewView(mem, mode, o)
		if err != nil {
			return Sample{}, err
		}
		defer v.Close()
		views[i] = v
	}
	base := newWordBase()
	return pingPong("line "+mode.String(), rounds, reps, func(side int, hit uint64) {
		v, seq := views[side], base+hit
		var line [lineWords]uint64
		p := unsafe.Pointer(&line)
		mine, theirs := unsafe.Add(v.Base(), side*pingPongStride), unsafe.Add(v.Base(), (1-side)*pingPongStride)
		if side == 1 {
			for !v.GetLine(p, theirs, seq) {
				Pause()
			}
		}
		line[lineWords-1] = seq
		v.PutLine(mine, p)
		v.Fence()
		if side == 0 {
			for !v.GetLine(p, theirs, seq) {
				Pause()
			}
		}
	})
}

// BarePingPong is PingPong with nothing but an 8-byte store and load per line:
// what the coherent caches themselves take.
func BarePingPong(rounds, reps int) (Sample, error) {
	m, free, err := scratch(pingPongBytes)
	if err != nil {
		return Sample{}, err
	}
	defer free()
	words := [2]*uint64{}
	for i := range words {
		words[i] = (*uint64)(unsafe.Pointer(&m[i*pingPongStride]))
	}
	return pingPong("bare word", rounds, reps, func(side int, hit uint64) {
		if side == 1 {
			spinUntil(words[0], hit)
		}
		store64(unsafe.Pointer(words[side]), hit)
		if side == 0 {
			spinUntil(words[1], hit)
		}
	})
}

func spinUntil(p *uint64, want uint64) {
	for atomic.LoadUint64(p) != want {
		Pause()
	}
}

const (
	// pingPongStride keeps the two lines out of one 128-byte prefetch pair.
	pingPongStride = 4 * LineSize
	pingPongBytes  = 2 * pingPongStride
)

// newWordBase returns a first word that an earlier run over the same memory
// will hardly have used.
func newWordBase() uint64 { return uint64(time.Now().UnixNano()) << 8 }

// pingPong runs turn on both sides, pinned, and times side 0. Hits are counted
// from 1 over all repetitions; the first repetition warms up.
func pingPong(method string, rounds, reps int, turn func(side int, hit uint64)) (Sample, error) {
	cpus, err := twoCPUs()
	if err != nil {
		return Sample{}, err
	}
	s := Sample{Method: method, Size: LineSize}
	var (
		errs         [2]error
		pinned, done sync.WaitGroup
	)
	pinned.Add(len(errs))
	for side := range errs {
		done.Go(func() {
			errs[side] = pin(cpus[side])
			pinned.Done()
			pinned.Wait()
			if errors.Join(errs[:]...) != nil {
				return
			}
			hit := uint64(0)
			for rep := range reps + 1 {
				start := time.Now()
				for range rounds {
					hit++
					turn(side, hit)
				}
				if rep > 0 && side == 0 {
					s.Nanoseconds = append(s.Nanoseconds, float64(time.Since(start).Nanoseconds())/float64(2*rounds))
				}
			}
		})
	}
	done.Wait()
	return s, errors.Join(errs[:]...)
}

// pin locks the goroutine to a thread and the thread to a CPU. The thread ends
// with the goroutine, so nothing needs to be put back.
func pin(cpu int) error {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pinning to CPU %d: %w", cpu, err)
	}
	return nil
}

// twoCPUs returns the first two CPUs that this thread may run on.
func twoCPUs() (cpus [2]int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return cpus, fmt.Errorf("asking for the allowed CPUs: %w", err)
	}
	n := 0
	for cpu := 0; cpu < len(set)*64 && n < 2; cpu++ {
		if set.IsSet(cpu) {
			cpus[n] = cpu
			n++
		}
	}
	if n < 2 {
		return cpus, ErrOneCPU
	}
	return cpus, nil
}
