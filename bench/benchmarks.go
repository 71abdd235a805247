package bench

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
)

// Unit says what a benchmark's values are.
type Unit string

// The units of all benchmarks. Less is better for microseconds only.
const (
	Microseconds   Unit = "µs"
	MBPerSecond    Unit = "MB/s" // 10^6 bytes per second
	MessagesPerSec Unit = "msg/s"
)

// LessIsBetter says in which direction values of this unit improve.
func (u Unit) LessIsBetter() bool { return u == Microseconds }

// Names of the benchmarks, as in the JSON file.
const (
	Latency  = "latency"
	BW       = "bw"
	BiBW     = "bibw"
	MsgRate  = "mbw_mr"
	NetPIPE  = "netpipe"
	maxBytes = 4 << 20 // largest message
)

// Benchmark is one program and how its output is read.
type Benchmark struct {
	Name  string
	Title string
	Unit  Unit
	// OSU is the name of the OSU program with the same method; "" if there is none.
	OSU string
	// column of the output's table that holds the value; the first is the size.
	column int
}

// benchmarks are all there are, in the order in which they are shown.
var benchmarks = []Benchmark{
	{Latency, "one-way latency", Microseconds, "osu_latency", 1},
	{BW, "bandwidth, window 64", MBPerSecond, "osu_bw", 1},
	{BiBW, "bidirectional bandwidth, window 64", MBPerSecond, "osu_bibw", 1},
	{MsgRate, "message rate, window 64", MessagesPerSec, "osu_mbw_mr", 2},
	{NetPIPE, "NetPIPE (NPmpich2), one-way time", Microseconds, "", 1},
}

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
