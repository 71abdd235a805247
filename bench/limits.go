package bench

import (
	"fmt"
	"runtime"
	"slices"
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
	}
}

// limitSteps are the other limits.
func limitSteps(o Options) []limitStep {
	reps := o.Repetitions
	return []limitStep{
		{"copies", func(r *Report) error { return r.addCopies(o, reps) }},
		{"copies over a window", func(r *Report) error { return r.addWindowCopies(o, reps) }},
		{"figure 11", func(r *Report) error { return r.addFigure11(o, reps) }},
	}
}

// addPingPong adds a one-way time; it is the limit for a message of 8 bytes.
func (r *Report) addPingPong(name string, s flush.Sample, err error) error {
	if err != nil {
		return err
	}
	i := slices.IndexFunc(r.Limits, func(l Limit) bool { return l.Name == name })
	if i < 0 {
		i = len(r.Limits)
		r.Limits = append(r.Limits, Limit{Name: name, Unit: Microseconds, Size: smallMessage, Skipped: s.Skipped})
	}
	for _, ns := range s.Nanoseconds {
		r.Limits[i].Values = append(r.Limits[i].Values, ns/1e3)
	}
	return nil
}

// addCopies adds what a copy into shared memory and out of it again can reach
// when a core does each at the same time: the slower of both, repetition by
// repetition.
func (r *Report) addCopies(o Options, reps int) error {
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
			samples, err := flush.CopyLimits(nil, l.mode, flush.Options{}, int(size), reps)
			if err != nil {
				return err
			}
			in, out := rates(samples, l.in), rates(samples, l.out)
			limit := Limit{Name: l.name, Unit: MBPerSecond, Size: size}
			for i := range min(len(in), len(out)) {
				limit.Values = append(limit.Values, min(in[i], out[i]))
			}
			r.Limits = append(r.Limits, limit)
		}
	}
	return nil
}

// addWindowCopies adds what puts and gets can reach, which are one copy each:
// copies between a buffer and the places of a window in shared memory, one after
// the other, as rma_bw.c puts and gets. Large ones find the caches too small.
func (r *Report) addWindowCopies(o Options, reps int) error {
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
		in := Limit{Name: LimitCopyIn, Unit: MBPerSecond, Size: int64(size)}
		out := Limit{Name: LimitCopyOut, Unit: MBPerSecond, Size: int64(size)}
		for range reps {
			for _, l := range []*Limit{&in, &out} {
				start := time.Now()
				for range rounds {
					for at := 0; at < len(shared); at += size {
						if l == &in {
							copy(shared[at:at+size], private)
						} else {
							copy(private, shared[at:at+size])
						}
					}
				}
				l.Values = append(l.Values, float64(rounds*len(shared))/1e6/time.Since(start).Seconds())
			}
		}
		r.Limits = append(r.Limits, in, out)
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
func (r *Report) addFigure11(o Options, reps int) error {
	var sizes []int
	for n := 64; n <= 128<<10; n *= 2 {
		sizes = append(sizes, n)
	}
	if o.Quick {
		sizes = []int{64, 4096}
	}
	samples, err := flush.Figure11(nil, nil, sizes, reps)
	if err != nil {
		return err
	}
	for _, s := range samples {
		l := Limit{Name: s.Method, Unit: Microseconds, Size: int64(s.Size), Skipped: s.Skipped}
		for _, ns := range s.Nanoseconds {
			l.Values = append(l.Values, ns/1e3)
		}
		r.Figure11 = append(r.Figure11, l)
	}
	r.addLineWrite()
	return nil
}

// addLineWrite adds the fastest way of figure 11 to get one line out of the
// caches; it is the limit for a put of 8 bytes.
func (r *Report) addLineWrite() {
	best := Limit{Name: LimitLineWrite, Unit: Microseconds, Size: smallMessage, Skipped: "no method was measured"}
	for _, l := range r.Figure11 {
		if l.Size != flush.LineSize || l.Name == "memset" || len(l.Values) == 0 { // memset leaves it in the cache
			continue
		}
		if best.Values == nil || statOf(l.Values).Median < statOf(best.Values).Median {
			best.Values, best.Skipped = l.Values, ""
		}
	}
	r.Limits = append(r.Limits, best)
}
