package bench

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Unit says what a benchmark's values are.
type Unit string

// The units of all benchmarks. Of rates more is better, of the others less.
const (
	Microseconds   Unit = "µs"
	MBPerSecond    Unit = "MB/s" // 10^6 bytes per second
	MessagesPerSec Unit = "msg/s"
	Milliseconds   Unit = "ms"
	MiB            Unit = "MiB"
)

// Names of the benchmarks, as in the JSON file.
const (
	Latency  = "latency"
	Small    = "latency-8"
	SmallPut = "put-8"
	SmallGet = "get-8"
	BW       = "bw"
	BiBW     = "bibw"
	MsgRate  = "mbw_mr"
	MTRate   = "mt_rate"
	NetPIPE  = "netpipe"
	InitTime = "init"
	Memory   = "memory"
	maxBytes = 4 << 20 // largest message

	PutFlush        = "put-flush"
	GetFlush        = "get-flush"
	FetchAndOp      = "fop-flush"
	CompareAndSwap  = "cas-flush"
	PutBW           = "put_bw-flush"
	GetBW           = "get_bw-flush"
	GetMultiBW      = "get_multi-bw"
	GetMultiLatency = "get_multi-latency"
)

// Benchmark is one program and how its output is read.
type Benchmark struct {
	Name  string
	Title string
	Unit  Unit
	// program is the name of our program in c/; "" if it is somebody else's.
	program string
	// osu is the name of the OSU program with the same method; "" if there is none.
	osu string
	// column of the output's table that holds the value; the first is the size.
	column int
	// sync and op are the program's options of these names; "" for two-sided
	// programs. OSU has a program for each op.
	sync, op string
}

// benchmarks are all there are, in the order in which they are shown.
var benchmarks = []Benchmark{
	{Latency, "one-way latency", Microseconds, "latency", "osu_latency", 1, "", ""},
	{Small, "one-way latency of 8 bytes, in many short runs", Microseconds, "latency", "osu_latency", 1, "", ""},
	{SmallPut, "put of 8 bytes and flush, in many short runs", Microseconds, "rma_latency", "osu_put_latency", 1, "flush", "put"},
	{SmallGet, "get of 8 bytes and flush, in many short runs", Microseconds, "rma_latency", "osu_get_latency", 1, "flush", "get"},
	{BW, "bandwidth, window 64", MBPerSecond, "bw", "osu_bw", 1, "", ""},
	{BiBW, "bidirectional bandwidth, window 64", MBPerSecond, "bibw", "osu_bibw", 1, "", ""},
	{MsgRate, "message rate, window 64", MessagesPerSec, "mbw_mr", "osu_mbw_mr", 2, "", ""},
	{MTRate, "message rate of 4 threads per rank, window 64", MessagesPerSec, "rate_threads", "", 2, "", ""},
	{NetPIPE, "NetPIPE (NPmpich2), one-way time", Microseconds, "", "", 1, "", ""},
	oneSided(PutFlush, "put", "flush"),
	oneSided(GetFlush, "get", "flush"),
	oneSided("put-lock", "put", "lock"),
	oneSided("get-lock", "get", "lock"),
	oneSided("put-fence", "put", "fence"),
	oneSided("get-fence", "get", "fence"),
	oneSided("put-pscw", "put", "pscw"),
	oneSided("get-pscw", "get", "pscw"),
	oneSided("acc-flush", "acc", "flush"),
	oneSided("get_acc-flush", "get_acc", "flush"),
	oneSided(FetchAndOp, "fop", "flush"),
	oneSided(CompareAndSwap, "cas", "flush"),
	{PutBW, "put bandwidth under flush, window 64", MBPerSecond, "rma_bw", "osu_put_bw", 1, "flush", "put"},
	{GetBW, "get bandwidth under flush, window 64", MBPerSecond, "rma_bw", "osu_get_bw", 1, "flush", "get"},
	{"put_bw-pscw", "put bandwidth under post/start/complete/wait, window 64", MBPerSecond, "rma_bw", "osu_put_bw", 1, "pscw", "put"},
	{"get_bw-pscw", "get bandwidth under post/start/complete/wait, window 64", MBPerSecond, "rma_bw", "osu_get_bw", 1, "pscw", "get"},
	{GetMultiBW, "get bandwidth of all pairs, window 64", MBPerSecond, "rma_multi", "", 1, "flush", "get"},
	{"get_multi-rate", "gets of all pairs per second, window 64", MessagesPerSec, "rma_multi", "", 2, "flush", "get"},
	{GetMultiLatency, "get latency with all pairs at work, flush", Microseconds, "rma_multi", "", 3, "flush", "get"},
	{InitTime, "time in MPI_Init, slowest rank", Milliseconds, "startup", "", 1, "", ""},
	{Memory, "resident memory, largest rank, after a message to each other", MiB, "startup", "", 2, "", ""},
}

// oneSided is the latency of an operation under a way to synchronise.
func oneSided(name, op, sync string) Benchmark {
	return Benchmark{name, fmt.Sprintf("%s, latency under %s", opTitles[op], syncTitles[sync]), Microseconds,
		"rma_latency", "osu_" + op + "_latency", 1, sync, op}
}

var (
	opTitles = map[string]string{
		"put": "put", "get": "get", "acc": "accumulate (sum of 4-byte integers)",
		"get_acc": "get-accumulate (sum of 4-byte integers)",
		"fop":     "fetch-and-op (sum of 8 bytes)", "cas": "compare-and-swap (8 bytes; Open MPI by osc/sm)",
	}
	syncTitles = map[string]string{
		"flush": "flush", "lock": "lock/unlock", "fence": "fence", "pscw": "post/start/complete/wait",
	}
)

// isOneSided says whether the benchmark is about windows.
func (b Benchmark) isOneSided() bool { return b.sync != "" }

// settings are environment variables that the benchmark needs in a variant. Open
// MPI 4.1's default component for windows, osc/rdma, crashes in a compare-and-swap
// between ranks of one host.
func (b Benchmark) settings(v Variant) []string {
	if b.Name == CompareAndSwap && v.Name == NativeOpenMPI {
		return []string{"OMPI_MCA_osc=sm"}
	}
	return nil
}

// hasPairs says whether the benchmark runs with any number of pairs of ranks.
func (b Benchmark) hasPairs() bool {
	return b.program == "mbw_mr" || b.program == "rate_threads" || b.program == "rma_multi"
}

// isStartup says whether the benchmark is run once with many ranks rather than
// over message sizes; its samples have the number of ranks for a size.
func (b Benchmark) isStartup() bool { return b.program == "startup" }

// What the size of a sample counts.
const (
	axisBytes = "bytes"
	axisRanks = "ranks"
)

// axis is what the sizes of the benchmark's samples count.
func (b Benchmark) axis() string {
	if b.isStartup() {
		return axisRanks
	}
	return axisBytes
}

// isShort says whether the benchmark is run shortRounds times in each repetition.
// What takes less than the moments for which a machine stays as it is (virtual
// processors that move between cores, clocks) is compared by many short runs that
// take turns, with the limits that it is compared to among them.
func (b Benchmark) isShort() bool {
	return slices.Contains([]string{Small, SmallPut, SmallGet, FetchAndOp, CompareAndSwap}, b.Name)
}

const (
	shortRounds     = 5       // in each repetition
	shortIterations = 100_000 // tens of milliseconds
)

// startupRanks are many for the machines that this is run on, few for a job.
const startupRanks = 8

// sizeRange is a range of message sizes, doubling from Min to Max bytes.
type sizeRange struct{ Min, Max int64 }

// args are the arguments of a benchmark program for one range of sizes. OSU's
// programs know no operations.
func (o Options) args(b Benchmark, v Variant, r sizeRange) []string {
	a := []string{"-m", fmt.Sprintf("%d:%d", r.Min, r.Max)}
	if b.sync != "" {
		a = append(a, "-s", b.sync)
	}
	if b.op != "" && o.OSUDir == "" && o.OSUDirOpen == "" {
		a = append(a, "-o", b.op)
	}
	switch {
	case o.Quick:
		a = append(a, "-i", "100", "-x", "10")
	case b.isShort():
		a = append(a, "-i", strconv.Itoa(shortIterations), "-x", strconv.Itoa(shortIterations/10))
	case v.iterations > 0:
		a = append(a, "-i", strconv.Itoa(v.iterations), "-x", strconv.Itoa(v.iterations/10))
	}
	if o.Hosts != nil && b.Unit == MBPerSecond {
		a = append(a, "-W", strconv.Itoa(hostsWindow))
	}
	return a
}

// ranges are the message sizes to measure. Quick runs take one small, one
// medium and one large size, each in a run of its own. What is run often has one
// size.
func (o Options) ranges(b Benchmark) []sizeRange {
	if b.isShort() {
		return []sizeRange{{smallMessage, smallMessage}}
	}
	if o.Quick {
		return []sizeRange{{8, 8}, {64 << 10, 64 << 10}, {1 << 20, 1 << 20}}
	}
	if o.Hosts != nil {
		return []sizeRange{{1, hostsMaxBytes}}
	}
	return []sizeRange{{1, maxBytes}}
}

//go:embed c/*.c c/*.h
var sources embed.FS

// writeSources puts the C programs into dir, from where they are compiled.
func writeSources(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files, err := sources.ReadDir("c")
	if err != nil {
		return err
	}
	for _, f := range files {
		data, err := sources.ReadFile("c/" + f.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name()), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// findOSU looks for an OSU program in the places where its releases have it.
func findOSU(dir, name string) (string, error) {
	for _, sub := range []string{"", "pt2pt", "mpi/pt2pt", "mpi/pt2pt/standard", "c/mpi/pt2pt/standard",
		"one-sided", "mpi/one-sided", "c/mpi/one-sided"} {
		path := filepath.Join(dir, sub, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("no program %s in %s", name, dir)
}
