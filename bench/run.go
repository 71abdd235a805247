package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Options say what Run is to do.
type Options struct {
	Library     string   // path of libcmpi.so
	Version     string   // of this build, for the report
	Settings    []string // more CMPI_* settings for all preloaded variants
	WorkDir     string   // for programs that are built, and for files they write
	Repetitions int      // at least 1
	Quick       bool     // three sizes and few iterations: to try the harness, not to measure
	Pairs       int      // pairs of ranks of the message rate and of rma_multi; 0: one
	Only        []string // names of benchmarks; none: all
	OSUDir      string   // OSU programs built with MPICH to run instead of ours; "": ours
	OSUDirOpen  string   // the same built with Open MPI
	Progress    func(done, total int, what string)
	Hosts       *Hosts // measure between two hosts instead of inside this one; nil: inside
}

const (
	// runTimeout ends a program that hangs. The slowest runs take 20 s.
	runTimeout = 3 * time.Minute
	// killDelay is how long a starter may take to end its ranks.
	killDelay = 5 * time.Second
)

// job is one program in one variant.
type job struct {
	benchmark Benchmark
	variant   Variant
	program   string
	dead      bool // it failed; more tries would only cost time
}

// Run builds the programs and measures. Benchmarks that fail are in the
// report's Errors, and so is the end of ctx once something was measured; the error
// returned is for what keeps everything from running.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Repetitions < 1 {
		return nil, errors.New("at least one repetition is needed")
	}
	if _, err := os.Stat(o.Library); err != nil {
		return nil, fmt.Errorf("the library: %w (make lib builds it)", err)
	}
	r := &Report{Machine: describeMachine(ctx), Quick: o.Quick, Repetitions: o.Repetitions, OSU: o.OSUDir, Hosts: o.Hosts != nil}
	if r.Machine.Versions[mpich.name] == "" {
		return nil, fmt.Errorf("%s is not installed (build/setup installs it)", mpich.starter)
	}
	r.Machine.Versions["cmpi"] = o.Version
	jobs, err := o.prepare(ctx, r)
	if err != nil {
		return nil, err
	}
	long := slices.DeleteFunc(slices.Clone(jobs), func(j *job) bool { return j.benchmark.isShort() })
	short := slices.DeleteFunc(jobs, func(j *job) bool { return !j.benchmark.isShort() })
	var limits, lines []limitStep
	if o.Hosts == nil {
		limits, lines = limitSteps(o), lineSteps(o)
	}
	rounds := shortRounds
	if o.Quick || len(short) == 0 {
		rounds = 1
	}
	total, done := o.Repetitions*(len(limits)+len(long)+rounds*(len(short)+len(lines))), 0
	step := func(what string) {
		if o.Progress != nil {
			o.Progress(done, total, what)
		}
		done++
	}
	measure := func(limits []limitStep) {
		for _, l := range limits {
			step(l.what)
			if err := l.run(r); err != nil {
				r.Errors = append(r.Errors, fmt.Sprintf("%s: %v", l.what, err))
			}
		}
	}
	// The order rotates: see the package comment.
	turn := func(jobs []*job, first, rep int) error {
		for i := range jobs {
			j := jobs[(i+first)%len(jobs)]
			step(fmt.Sprintf("%s, %s", j.benchmark.Name, j.variant.Title))
			if err := o.measure(ctx, r, j, rep); err != nil {
				return err
			}
		}
		return nil
	}
	all := func() error {
		for rep := range o.Repetitions {
			measure(limits)
			if err := turn(long, rep, rep); err != nil {
				return err
			}
			for round := range rounds {
				measure(lines)
				if err := turn(short, rep+round, rep); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := all(); err != nil {
		if len(r.Samples) == 0 {
			return nil, err
		}
		r.interrupted()
	}
	if o.Progress != nil {
		o.Progress(total, total, "")
	}
	r.Targets = judge(r, o.goals())
	return r, nil
}

// interrupted makes the best of a report whose last repetition did not end.
func (r *Report) interrupted() {
	last := r.Samples[len(r.Samples)-1].Repetition
	r.Errors = append(r.Errors, fmt.Sprintf("interrupted in repetition %d of %d: these are medians of what was measured until then", last+1, r.Repetitions))
	r.Repetitions = last + 1
}

// measure runs a job once more and adds what it gave to the report, or why there
// is nothing. An error is for what ends the whole run.
func (o Options) measure(ctx context.Context, r *Report, j *job, rep int) error {
	if j.dead {
		return nil
	}
	points, err := o.runJob(ctx, *j)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		j.dead = true
		what := fmt.Sprintf("%s, %s: %v", j.benchmark.Name, j.variant.Title, err)
		if j.variant.Preloaded() {
			r.Errors = append(r.Errors, what)
		} else {
			r.PeerErrors = append(r.PeerErrors, what)
		}
		return nil
	}
	for _, p := range points {
		r.Samples = append(r.Samples, Sample{j.benchmark.Name, j.variant.Name, rep, p.Size, p.Value})
	}
	return nil
}

// prepare builds or finds the programs and describes them in the report.
func (o Options) prepare(ctx context.Context, r *Report) ([]*job, error) {
	sourceDir := filepath.Join(o.WorkDir, "src")
	if err := writeSources(sourceDir); err != nil {
		return nil, err
	}
	for _, name := range o.Only {
		if !slices.Contains(o.names(), name) {
			return nil, fmt.Errorf("no benchmark %q here; there are: %s", name, strings.Join(o.names(), " "))
		}
	}
	for _, v := range o.variants() {
		r.Variants = append(r.Variants, VariantInfo{v.Name, v.Title, v.Settings,
			strings.Join(v.command(filepath.Base(o.Library), o.Settings, 2, "PROGRAM"), " ")})
	}
	var jobs []*job
	for _, b := range benchmarks {
		if !o.wants(b.Name) {
			continue
		}
		r.Benchmarks = append(r.Benchmarks, BenchmarkInfo{b.Name, o.title(b), b.Unit, b.axis()})
		programs := map[string]string{} // by host
		for _, v := range o.variants() {
			if b.Name == NetPIPE && (v.host.name != mpich.name || v.Name == FlushPaper) {
				continue // Debian's program is linked with MPICH; the paper's protocol is compared by the others
			}
			if b.isOneSided() && v.Name == FlushPaper {
				continue // windows have no rings
			}
			program, built := programs[v.host.name]
			if !built {
				var err error
				if program, err = o.program(ctx, sourceDir, b, v.host); err != nil {
					r.Errors = append(r.Errors, fmt.Sprintf("%s on %s: %v", b.Name, v.host.title, err))
				}
				programs[v.host.name] = program
			}
			if program != "" {
				jobs = append(jobs, &job{benchmark: b, variant: v, program: program})
			}
		}
	}
	return jobs, nil
}

// program is the path of a benchmark's program for one MPI library; "" without
// an error if the user's choice of OSU programs leaves it out.
func (o Options) program(ctx context.Context, sourceDir string, b Benchmark, h host) (string, error) {
	switch {
	case b.Name == NetPIPE:
		return exec.LookPath("NPmpich2")
	case b.osu != "" && (o.OSUDir != "" || o.OSUDirOpen != ""):
		dir := o.OSUDir
		if h.name == openMPI.name {
			dir = o.OSUDirOpen
		}
		if dir == "" {
			return "", nil
		}
		return findOSU(dir, b.osu)
	default:
		return h.compile(ctx, sourceDir, o.WorkDir, b.program)
	}
}

// runJob runs a job once, over all ranges of sizes.
func (o Options) runJob(ctx context.Context, j job) ([]point, error) {
	if j.benchmark.Name == NetPIPE {
		return o.runNetPIPE(ctx, j)
	}
	if j.benchmark.isStartup() {
		out, err := start(ctx, o.WorkDir, j.variant.command(o.Library, o.Settings, startupRanks, j.program))
		if err != nil {
			return nil, err
		}
		return parseTable(out, j.benchmark.column)
	}
	ranks := 2
	if j.benchmark.hasPairs() && o.Pairs > 1 {
		ranks = 2 * o.Pairs
	}
	var points []point
	for _, sizes := range o.ranges(j.benchmark) {
		program := append(j.benchmark.settings(j.variant), j.program)
		argv := j.variant.command(o.Library, o.Settings, ranks, append(program, o.args(j.benchmark, j.variant, sizes)...)...)
		out, err := start(ctx, o.WorkDir, argv)
		if err != nil {
			return nil, err
		}
		some, err := parseTable(out, j.benchmark.column)
		if err != nil {
			return nil, err
		}
		points = append(points, some...)
	}
	return points, nil
}

// runNetPIPE runs NPmpich2 once and reads the file that it writes.
func (o Options) runNetPIPE(ctx context.Context, j job) ([]point, error) {
	file, err := filepath.Abs(filepath.Join(o.WorkDir, "np.out"))
	if err != nil {
		return nil, err
	}
	args := []string{j.program, "-o", file, "-p", "0", "-u", "1048576"} // -p 0: round sizes only
	if o.Quick {
		args = append(args, "-n", "20")
	}
	if _, err := start(ctx, o.WorkDir, j.variant.command(o.Library, o.Settings, 2, args...)); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parseNetPIPE(string(text))
}

// wants says whether a benchmark was asked for, and can be run.
func (o Options) wants(name string) bool {
	return slices.Contains(o.names(), name) && (len(o.Only) == 0 || slices.Contains(o.Only, name))
}

// names are the benchmarks that can be run.
func (o Options) names() []string {
	if o.Hosts != nil {
		return HostsNames()
	}
	return Names()
}

// Names are the names of all benchmarks.
func Names() []string {
	names := make([]string, len(benchmarks))
	for i, b := range benchmarks {
		names[i] = b.Name
	}
	return names
}

// EnoughCores says whether two ranks get a core each; otherwise latencies are
// those of the operating system's scheduler.
func EnoughCores() bool { return runtime.NumCPU() >= 2 }
