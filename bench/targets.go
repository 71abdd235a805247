package bench

import "fmt"

const (
	smallMessage = 8        // bytes, where latency and message rate are judged
	bulkMin      = 64 << 10 // bytes, from here
	bulkMax      = 4 << 20  // to here bandwidth is judged
)

// Target is one thing that the library is to reach, and whether it did.
type Target struct {
	Text  string  `json:"text"`
	Ratio float64 `json:"ratio"` // measured; of several sizes the worst
	Bound float64 `json:"bound"`
	Most  bool    `json:"most"` // the ratio is to be at most Bound; otherwise at least
	Size  int64   `json:"size"` // where the ratio was measured
	Known bool    `json:"known"`
	Met   bool    `json:"met"`
}

// goal is how a target is computed: ours divided by theirs.
type goal struct {
	text         string
	most         bool
	bound        float64
	ours, theirs func(*Report, int64) Stat
	from, to     int64 // sizes
}

// of takes a benchmark's value in a variant.
func of(benchmark, variant string) func(*Report, int64) Stat {
	return func(r *Report, size int64) Stat { return r.Stat(benchmark, variant, size) }
}

// limitOf takes a limit.
func limitOf(name string) func(*Report, int64) Stat {
	return func(r *Report, size int64) Stat { return r.limit(name, size) }
}

var goals = []goal{
	{"8 B latency, coherent / MPICH", true, 0.7, of(Latency, Coherent), of(Latency, NativeMPICH), smallMessage, smallMessage},
	{"8 B latency, coherent / Open MPI", true, 0.75, of(Latency, Coherent), of(Latency, NativeOpenMPI), smallMessage, smallMessage},
	{"8 B latency, coherent / bare line ping-pong", true, 2.1, of(Latency, Coherent), limitOf(LimitPingPong), smallMessage, smallMessage},
	{"8 B latency, flush / MPICH (coherent)", true, 1.5, of(Latency, Flush), of(Latency, NativeMPICH), smallMessage, smallMessage},
	{"8 B latency, flush / the paper's protocol in flush mode", true, 0.4, of(Latency, Flush), of(Latency, FlushPaper), smallMessage, smallMessage},
	{"bandwidth 64 KiB–4 MiB, coherent / MPICH", false, 1.1, of(BW, Coherent), of(BW, NativeMPICH), bulkMin, bulkMax},
	{"8 B message rate, coherent / MPICH", false, 1.2, of(MsgRate, Coherent), of(MsgRate, NativeMPICH), smallMessage, smallMessage},
	{"bandwidth 64 KiB–4 MiB, flush / bare streaming copy through", false, 0.7, of(BW, Flush), limitOf(LimitStream), bulkMin, bulkMax},
}

// judge compares the report with all goals. A goal over several sizes is met
// if it is at each; the ratio told is that of the worst.
func judge(r *Report) []Target {
	var targets []Target
	for _, g := range goals {
		t := Target{Text: g.text, Bound: g.bound, Most: g.most}
		for size := g.from; size <= g.to; size *= 2 {
			ours, theirs := g.ours(r, size), g.theirs(r, size)
			if ours.N == 0 || theirs.N == 0 {
				continue
			}
			ratio := ours.Median / theirs.Median
			if !t.Known || (g.most && ratio > t.Ratio) || (!g.most && ratio < t.Ratio) {
				t.Ratio, t.Size = ratio, size
			}
			t.Known = true
		}
		t.Met = t.Known && ((g.most && t.Ratio <= g.bound) || (!g.most && t.Ratio >= g.bound))
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
