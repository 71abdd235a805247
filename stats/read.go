package stats

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"cmpi/arena"
)

// Job is what is known of a job that counts.
type Job struct {
	Name    string     `json:"job"`
	Pool    string     `json:"pool"`  // where it was found
	Size    int        `json:"ranks"` // how many it has
	Mode    string     `json:"mode"`  // how its memory is kept coherent
	Started time.Time  `json:"started"`
	Seen    time.Time  `json:"seen"` // when the counters were read
	Ranks   []Counters `json:"counters"`
}

// Counters are those of one rank.
type Counters struct {
	Rank int    `json:"rank"`
	PID  uint32 `json:"pid"`            // in its own namespace
	Dead bool   `json:"dead,omitempty"` // it is known to have ended without a word
	Own  Rank   `json:"own"`
	With []Pair `json:"with"` // by rank
}

// mostRanks is the largest job that is read: its counters take 3 GiB.
const mostRanks = 4096

// ErrTooMany means a job of more ranks than can be shown.
var ErrTooMany = errors.New("more ranks than can be shown")

// Jobs reads the counters of all jobs in a pool. Those that make no sense are
// left out. Errors: those of arena.List, and ErrFault.
func Jobs(a *arena.Arena) (jobs []Job, err error) {
	err = guarded(func() error {
		infos, err := a.List()
		if err != nil && len(infos) == 0 {
			return err
		}
		jobs = collect(a, infos)
		return nil
	})
	return jobs, err
}

// ErrFault means that the pool's memory went away while it was read: its file was
// cut short.
var ErrFault = errors.New("the pool's memory can't be read any more")

// guarded calls f, which reads memory that others may take away.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(interface{ Addr() uintptr }); !ok {
				panic(r)
			}
			err = ErrFault
		}
	}()
	return f()
}

func collect(a *arena.Arena, infos []arena.Info) []Job {
	byName := map[string]*Job{}
	for i := range infos {
		job, rank, ok := parseName(infos[i].Name)
		if !ok || !infos[i].Ready {
			continue
		}
		h, c, err := read(a, &infos[i])
		if err != nil || c.Rank != rank {
			continue
		}
		j := byName[job]
		if j == nil {
			j = &Job{Name: job, Pool: a.Path(), Size: int(h.ranks), Mode: h.mode.String(), Started: time.Unix(0, h.started), Seen: time.Now()}
			byName[job] = j
		}
		if int(h.ranks) == j.Size {
			j.Ranks = append(j.Ranks, c)
		}
	}
	var jobs []Job
	for _, j := range byName {
		slices.SortFunc(j.Ranks, func(x, y Counters) int { return x.Rank - y.Rank })
		jobs = append(jobs, *j)
	}
	slices.SortFunc(jobs, func(x, y Job) int { return strings.Compare(x.Name, y.Name) })
	return jobs
}

// parseName is the reverse of Name.
func parseName(name string) (job string, rank int, ok bool) {
	rest, ok := strings.CutPrefix(name, "j/")
	if !ok {
		return "", 0, false
	}
	i := strings.LastIndex(rest, "/stats/")
	if i <= 0 {
		return "", 0, false
	}
	rank, err := strconv.Atoi(rest[i+len("/stats/"):])
	return rest[:i], rank, err == nil && rank >= 0 && Name(rest[:i], rank) == name
}

// read copies the counters of an object and decodes the copy.
func read(a *arena.Arena, info *arena.Info) (header, Counters, error) {
	at := unsafe.Add(a.View().Base(), info.Offset)
	var head [lineSize]byte
	if info.Size < lineSize {
		return header{}, Counters{}, ErrFormat
	}
	a.View().CopyOut(unsafe.Pointer(&head), at, lineSize)
	h, err := decodeHeader(head[:], info.Size)
	if err != nil {
		return h, Counters{}, err
	}
	if h.ranks > mostRanks {
		return h, Counters{}, fmt.Errorf("%w: %d", ErrTooMany, h.ranks)
	}
	b := make([]byte, Size(int(h.ranks)))
	a.View().CopyOut(unsafe.Pointer(&b[0]), at, len(b))
	h, c, err := decode(b)
	c.Dead = info.Life == arena.Dead
	return h, c, err
}

// decode reads the counters of a rank from b, any bytes.
func decode(b []byte) (h header, c Counters, err error) {
	if h, err = decodeHeader(b, int64(len(b))); err != nil {
		return h, c, err
	}
	c = Counters{Rank: int(h.rank), PID: h.pid, With: make([]Pair, h.ranks)}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&c.Own)), unsafe.Sizeof(c.Own)), b[rankAt:])
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&c.With[0])), int64(h.ranks)*pairSize), b[pairsAt:])
	return h, c, nil
}

// Running reports whether some rank is not known to have died. What a killed job
// has counted stays in a named pool until the next job there.
func (j *Job) Running() bool {
	return slices.ContainsFunc(j.Ranks, func(c Counters) bool { return !c.Dead })
}

// Total is what all ranks that are known have counted.
type Total struct {
	Own  Rank `json:"own"`
	With Pair `json:"with"`
}

// Total sums up the job.
func (j *Job) Total() (t Total) {
	for i := range j.Ranks {
		c := &j.Ranks[i]
		t.Own.add(&c.Own)
		for k := range c.With {
			t.With.add(&c.With[k])
		}
	}
	return t
}

func (r *Rank) add(o *Rank) {
	r.Unexpected += o.Unexpected
	r.Spins += o.Spins
	r.Yields += o.Yields
	r.Naps += o.Naps
	r.PoolBytes += o.PoolBytes
	r.RingsOut += o.RingsOut
	r.RingsIn += o.RingsIn
	r.Broken += o.Broken
	r.Lines.Published += o.Lines.Published
	r.Lines.Invalidated += o.Lines.Invalidated
}

func (p *Pair) add(o *Pair) {
	p.Eager.add(o.Eager)
	p.Fast.add(o.Fast)
	p.Staged.add(o.Staged)
	p.Single.add(o.Single)
	p.Streamed.add(o.Streamed)
	p.Received.add(o.Received)
	p.Puts.add(o.Puts)
	p.Gets.add(o.Gets)
	p.Updates.add(o.Updates)
}

// Since is what the job has counted since an earlier look at it; gauges are as
// they are now. Ranks that were not known then have counted all of theirs since.
func (j *Job) Since(then *Job) *Job {
	d := *j
	d.Ranks = slices.Clone(j.Ranks)
	old := map[int]*Counters{}
	for i := range then.Ranks {
		old[then.Ranks[i].Rank] = &then.Ranks[i]
	}
	for i := range d.Ranks {
		c := &d.Ranks[i]
		o := old[c.Rank]
		if o == nil || len(o.With) != len(c.With) {
			continue
		}
		pool := c.Own.PoolBytes
		subtract(&c.Own, &o.Own)
		c.Own.PoolBytes = pool
		c.With = slices.Clone(c.With)
		for k := range c.With {
			subtract(&c.With[k], &o.With[k])
		}
	}
	return &d
}

// subtract takes the words of one set of counters from those of another.
func subtract[T Rank | Pair](a, b *T) {
	const word = 8
	n := unsafe.Sizeof(*a) / word
	x, y := unsafe.Slice((*uint64)(unsafe.Pointer(a)), n), unsafe.Slice((*uint64)(unsafe.Pointer(b)), n)
	for i := range x {
		x[i] -= min(x[i], y[i])
	}
}
