package bench

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
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
	BW       = "bw"
	BiBW     = "bibw"
	MsgRate  = "mbw_mr"
	NetPIPE  = "netpipe"
	InitTime = "init"
	Memory   = "memory"
	maxBytes = 4 << 20 // largest message
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
}

// benchmarks are all there are, in the order in which they are shown.
var benchmarks = []Benchmark{
	{Latency, "one-way latency", Microseconds, "latency", "osu_latency", 1},
	{BW, "bandwidth, window 64", MBPerSecond, "bw", "osu_bw", 1},
	{BiBW, "bidirectional bandwidth, window 64", MBPerSecond, "bibw", "osu_bibw", 1},
	{MsgRate, "message rate, window 64", MessagesPerSec, "mbw_mr", "osu_mbw_mr", 2},
	{NetPIPE, "NetPIPE (NPmpich2), one-way time", Microseconds, "", "", 1},
	{InitTime, "time in MPI_Init, slowest rank", Milliseconds, "startup", "", 1},
	{Memory, "resident memory, largest rank, after a message to each other", MiB, "startup", "", 2},
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

// startupRanks are many for the machines that this is run on, few for a job.
const startupRanks = 8

// sizeRange is a range of message sizes, doubling from Min to Max bytes.
type sizeRange struct{ Min, Max int64 }

// args are the arguments of a benchmark program for one range of sizes.
func (o Options) args(r sizeRange) []string {
	a := []string{"-m", fmt.Sprintf("%d:%d", r.Min, r.Max)}
	if o.Quick {
		a = append(a, "-i", "100", "-x", "10")
	}
	return a
}

// ranges are the message sizes to measure. Quick runs take one small, one
// medium and one large size, each in a run of its own.
func (o Options) ranges() []sizeRange {
	if o.Quick {
		return []sizeRange{{8, 8}, {64 << 10, 64 << 10}, {1 << 20, 1 << 20}}
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
	for _, sub := range []string{"", "pt2pt", "mpi/pt2pt", "mpi/pt2pt/standard", "c/mpi/pt2pt/standard"} {
		path := filepath.Join(dir, sub, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("no program %s in %s", name, dir)
}
