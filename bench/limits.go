package bench

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"cmpi/flush"
)

// Names of the limits, as in the JSON file.
const (
	LimitPingPong  = "bare line ping-pong"
	LimitLineFlush = "flagged line ping-pong, flush"
	LimitMemcpy    = "memcpy"
	LimitStream    = "streaming copy through, flush"
	LimitCopyIn    = "memcpy in"
	LimitCopyOut   = "memcpy out"
	LimitLineWrite = "bare flushed line write"
)

// limitStep measures some limits and adds them to the report.
type limitStep struct {
	what string
	run  func(*Report) error
}

// lineSteps are the limits of short messages, from package flush: measured once in
// each round of the short benchmarks.
func lineSteps(o Options) []limitStep {
	rounds := 100_000
	if o.Quick {
		rounds = 2_000
	}
	return []limitStep{
		{LimitPingPong, func(r *Report) error {
			s, err := flush.BarePingPong(rounds, 1)
			return r.addPingPong(LimitPingPong, s, err)
		}},
		{LimitLineFlush, func(r *Report) error {
			s, err := flush.PingPong(nil, flush.Flush, flush.Options{}, rounds, 1)
			return r.addPingPong(LimitLineFlush, s, err)
		}},
		{LimitLineWrite, func(r *Report) error { return r.addLineWrite() }},
	}
}

// limitSteps are the other limits, measured once in each repetition.
func limitSteps(o Options) []limitStep {
	return []limitStep{
		{"copies", func(r *Report) error { return r.addCopies(o) }},
		{"copies over a window", func(r *Report) error { return r.addWindowCopies(o) }},
		{"figure 11", func(r *Report) error { return r.addFigure11(o) }},
	}
}

// addPingPong adds a one-way time; it is the limit for a message of 8 bytes.
func (r *Report) addPingPong(name string, s flush.Sample, err error) error {
	if err != nil {
		return err
	}
	r.Limits = add(r.Limits, timeLimit(name, smallMessage, s))
	return nil
}

// timeLimit is a sample as a limit.
func timeLimit(name string, size int64, s flush.Sample) Limit {
	l := Limit{Name: name, Unit: Microseconds, Size: size, Skipped: s.Skipped}
	for _, ns := range s.Nanoseconds {
		l.Values = append(l.Values, ns/1e3)
	}
	return l
}

// add adds the values to the limit of that name and size, which it becomes if there
// is none yet.
func add(limits []Limit, l Limit) []Limit {
	for i := range limits {
		if limits[i].Name == l.Name && limits[i].Size == l.Size {
			limits[i].Values = append(limits[i].Values, l.Values...)
			return limits
		}
	}
	return append(limits, l)
}

// addCopies adds what a copy into shared memory and out of it again can reach
// when a core does each at the same time: the slower of both, repetition by
// repetition.
func (r *Report) addCopies(o Options) error {
	for size := int64(bulkMin); size <= bulkMax; size *= 2 {
		if o.Quick && size != bulkMin && size != 1<<20 {
			continue
		}
		for _, l := range []struct {
			name, in, out string
			mode          flush.Mode
		}{
			{LimitMemcpy, "memcpy in", "memcpy out", flush.Coherent},
			{LimitStream, "copy in", "copy out", flush.Flush},
		} {
			samples, err := flush.CopyLimits(nil, l.mode, flush.Options{}, int(size), 1)
			if err != nil {
				return err
			}
			in, out := rates(samples, l.in), rates(samples, l.out)
			limit := Limit{Name: l.name, Unit: MBPerSecond, Size: size}
			for i := range min(len(in), len(out)) {
				limit.Values = append(limit.Values, min(in[i], out[i]))
			}
			r.Limits = add(r.Limits, limit)
		}
	}
	return nil
}

// addWindowCopies adds what puts and gets can reach, which are one copy each:
// copies between a buffer and the places of a window in shared memory, one after
// the other, as rma_bw.c puts and gets. Large ones find the caches too small.
func (r *Report) addWindowCopies(o Options) error {
	const window = 64 // rma_bw.c's
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for size := bulkMin; size <= bulkMax; size *= 2 {
		if o.Quick && size != bulkMin && size != 1<<20 {
			continue
		}
		fd, err := unix.MemfdCreate("bench", 0)
		if err != nil {
			return fmt.Errorf("shared memory: %w", err)
		}
		if err = unix.Ftruncate(fd, int64(window*size)); err != nil {
			return fmt.Errorf("shared memory of %d bytes: %w", window*size, err)
		}
		shared, err := unix.Mmap(fd, 0, window*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
		_ = unix.Close(fd)
		if err != nil {
			return fmt.Errorf("shared memory of %d bytes: %w", window*size, err)
		}
		private := make([]byte, size)
		for i := range private {
			private[i] = byte(i)
		}
		rounds := max(8, 1000*8192/size) // as bench_scale in bench.h
		for _, name := range []string{LimitCopyIn, LimitCopyOut} {
			start := time.Now()
			for range rounds {
				for at := 0; at < len(shared); at += size {
					if name == LimitCopyIn {
						copy(shared[at:at+size], private)
					} else {
						copy(private, shared[at:at+size])
					}
				}
			}
			rate := float64(rounds*len(shared)) / 1e6 / time.Since(start).Seconds()
			r.Limits = add(r.Limits, Limit{Name: name, Unit: MBPerSecond, Size: int64(size), Values: []float64{rate}})
		}
		if err := unix.Munmap(shared); err != nil {
			return err
		}
	}
	return nil
}

// rates are the MB/s of the sample with the given method.
func rates(samples []flush.Sample, method string) []float64 {
	var mbs []float64
	for _, s := range samples {
		if s.Method == method {
			for _, gbs := range s.GBPerSecond() {
				mbs = append(mbs, gbs*1e3)
			}
		}
	}
	return mbs
}

// addFigure11 repeats the cMPI paper's figure 11: ways to get 64 B to 128 KiB
// out of the caches.
func (r *Report) addFigure11(o Options) error {
	var sizes []int
	for n := 64; n <= 128<<10; n *= 2 {
		sizes = append(sizes, n)
	}
	if o.Quick {
		sizes = []int{64, 4096}
	}
	samples, err := flush.Figure11(nil, nil, sizes, 1)
	if err != nil {
		return err
	}
	for _, s := range samples {
		r.Figure11 = add(r.Figure11, timeLimit(s.Method, int64(s.Size), s))
	}
	return nil
}

// addLineWrite adds the time of the fastest way of figure 11 to get one line out of
// the caches; it is the limit for a put of 8 bytes.
func (r *Report) addLineWrite() error {
	samples, err := flush.Figure11(nil, nil, []int{flush.LineSize}, 1)
	if err != nil {
		return err
	}
	best := flush.Sample{Skipped: "no method was measured"}
	for _, s := range samples {
		if s.Method == "memset" || len(s.Nanoseconds) == 0 { // memset leaves it in the cache
			continue
		}
		if best.Nanoseconds == nil || s.Nanoseconds[0] < best.Nanoseconds[0] {
			best = s
		}
	}
	r.Limits = add(r.Limits, timeLimit(LimitLineWrite, smallMessage, best))
	return nil
}
