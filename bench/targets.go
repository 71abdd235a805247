package bench

import "fmt"

const (
	smallMessage = 8        // bytes, where latency and message rate are judged
	bulkMin      = 64 << 10 // bytes, from here
	bulkMax      = maxBytes // to here bandwidth is judged
)

// Target is one thing that the library is to reach, and whether it did.
type Target struct {
	Text  string  `json:"text"`
	Value float64 `json:"value"` // measured, a ratio or a difference; of several sizes the worst
	Bound float64 `json:"bound"`
	Most  bool    `json:"most"` // the value is to be at most Bound; otherwise at least
	Size  int64   `json:"size"` // where it was measured
	Axis  string  `json:"axis"` // what Size counts: "bytes" or "ranks"
	Known bool    `json:"known"`
	Met   bool    `json:"met"`
}

// figure is a measured value at a size.
type figure func(r *Report, size int64) Stat

// of takes a benchmark's value in a variant.
func of(benchmark, variant string) figure {
	return func(r *Report, size int64) Stat { return r.Stat(benchmark, variant, size) }
}

// limitOf takes a limit.
func limitOf(name string) figure {
	return func(r *Report, size int64) Stat { return r.limit(name, size) }
}

// goal is how a target is computed: ours divided by theirs, or ours less theirs.
type goal struct {
	text         string
	at           place
	ours, theirs figure
	added        bool // ours less theirs
	most         bool // at most bound
	bound        float64
}

// place says at which sizes a target is judged, and what the sizes count.
type place struct {
	sizeRange
	axis string
}

var (
	small = place{sizeRange{smallMessage, smallMessage}, axisBytes}
	bulk  = place{sizeRange{bulkMin, bulkMax}, axisBytes}
	many  = place{sizeRange{startupRanks, startupRanks}, axisRanks}
)

var goals = []goal{
	{"8 B latency, coherent / MPICH", small, of(Small, Coherent), of(Small, NativeMPICH), false, true, 0.7},
	{"8 B latency, coherent / Open MPI", small, of(Small, Coherent), of(Small, NativeOpenMPI), false, true, 0.75},
	{"8 B latency, coherent / bare line ping-pong", small, of(Small, Coherent), limitOf(LimitPingPong), false, true, 2.1},
	{"8 B latency, flush / MPICH (coherent)", small, of(Small, Flush), of(Small, NativeMPICH), false, true, 1.5},
	{"8 B latency, flush / the paper's protocol in flush mode", small, of(Small, Flush), of(Small, FlushPaper), false, true, 0.4},
	{"bandwidth 64 KiB–4 MiB, coherent / MPICH", bulk, of(BW, Coherent), of(BW, NativeMPICH), false, false, 1.1},
	{"8 B message rate, coherent / MPICH", small, of(MsgRate, Coherent), of(MsgRate, NativeMPICH), false, false, 1.2},
	{"8 B message rate of 4 threads, coherent / MPICH", small, of(MTRate, Coherent), of(MTRate, NativeMPICH), false, false, 1},
	{"bandwidth 64 KiB–4 MiB, flush / bare streaming copy through", bulk, of(BW, Flush), limitOf(LimitStream), false, false, 0.7},
	{"8 B put and flush, coherent / MPICH", small, of(SmallPut, Coherent), of(SmallPut, NativeMPICH), false, true, 0.4},
	{"8 B put and flush, coherent / Open MPI", small, of(SmallPut, Coherent), of(SmallPut, NativeOpenMPI), false, true, 0.7},
	{"8 B get and flush, coherent / MPICH", small, of(SmallGet, Coherent), of(SmallGet, NativeMPICH), false, true, 0.4},
	{"8 B get and flush, coherent / Open MPI", small, of(SmallGet, Coherent), of(SmallGet, NativeOpenMPI), false, true, 0.7},
	{"fetch-and-op, coherent / MPICH", small, of(FetchAndOp, Coherent), of(FetchAndOp, NativeMPICH), false, true, 0.5},
	{"fetch-and-op, coherent / Open MPI", small, of(FetchAndOp, Coherent), of(FetchAndOp, NativeOpenMPI), false, true, 0.9},
	{"compare-and-swap, coherent / MPICH", small, of(CompareAndSwap, Coherent), of(CompareAndSwap, NativeMPICH), false, true, 0.5},
	{"compare-and-swap, coherent / Open MPI", small, of(CompareAndSwap, Coherent), of(CompareAndSwap, NativeOpenMPI), false, true, 0.9},
	{"put bandwidth 64 KiB–4 MiB, coherent / memcpy in", bulk, of(PutBW, Coherent), limitOf(LimitCopyIn), false, false, 0.9},
	{"get bandwidth 64 KiB–4 MiB, coherent / memcpy out", bulk, of(GetBW, Coherent), limitOf(LimitCopyOut), false, false, 0.9},
	{"put bandwidth 64 KiB–4 MiB, coherent / MPICH", bulk, of(PutBW, Coherent), of(PutBW, NativeMPICH), false, false, 1.5},
	{"get bandwidth 64 KiB–4 MiB, coherent / MPICH", bulk, of(GetBW, Coherent), of(GetBW, NativeMPICH), false, false, 1.5},
	{"8 B put and flush, flush / bare flushed line write", small, of(SmallPut, Flush), limitOf(LimitLineWrite), false, true, 1.3},
	{"ms added to MPI_Init, coherent", many, of(InitTime, Coherent), of(InitTime, NativeMPICH), true, true, 20},
	{"MiB added per rank, coherent", many, of(Memory, Coherent), of(Memory, NativeMPICH), true, true, 16},
}

// judge compares the report with goals. A goal over several sizes is met
// if it is at each; the value told is that of the worst.
func judge(r *Report, goals []goal) []Target {
	var targets []Target
	for _, g := range goals {
		t := Target{Text: g.text, Bound: g.bound, Most: g.most, Axis: g.at.axis}
		for size := g.at.Min; size <= g.at.Max; size *= 2 {
			ours, theirs := g.ours(r, size), g.theirs(r, size)
			if ours.N == 0 || theirs.N == 0 {
				continue
			}
			value := ours.Median / theirs.Median
			if g.added {
				value = ours.Median - theirs.Median
			}
			if !t.Known || (g.most && value > t.Value) || (!g.most && value < t.Value) {
				t.Value, t.Size = value, size
			}
			t.Known = true
		}
		t.Met = t.Known && ((g.most && t.Value <= g.bound) || (!g.most && t.Value >= g.bound))
		targets = append(targets, t)
	}
	return targets
}

// verdict is the target's last word in a table.
func (t Target) verdict() string {
	switch {
	case !t.Known:
		return "not measured"
	case t.Met:
		return "met"
	default:
		return "NOT MET"
	}
}

// wanted is the bound in words.
func (t Target) wanted() string {
	if t.Most {
		return fmt.Sprintf("≤ %.2f", t.Bound)
	}
	return fmt.Sprintf("≥ %.2f", t.Bound)
}
