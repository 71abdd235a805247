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
	"strconv"
	"strings"
)

// host is an MPI library that starts programs.
type host struct {
	name     string // as in the compiler wrapper's and the starter's suffix
	title    string
	compiler string
	starter  string
	// bind and crowd are the starter's arguments when there are enough cores
	// for one rank each, and when there are not.
	bind, crowd []string
}

// The two libraries are installed side by side on Debian, so they are always
// called by their full names.
var (
	mpich = host{
		name: "mpich", title: "MPICH",
		compiler: "mpicc.mpich", starter: "mpiexec.mpich",
		bind: []string{"-bind-to", "core"},
	}
	openMPI = host{
		name: "openmpi", title: "Open MPI",
		compiler: "mpicc.openmpi", starter: "mpirun.openmpi",
		bind:  []string{"--bind-to", "core", "--map-by", "core"},
		crowd: []string{"--oversubscribe"},
	}
)

// Names of the variants, as in the JSON file.
const (
	NativeMPICH   = "mpich"
	NativeOpenMPI = "openmpi"
	Coherent      = "coherent"
	Flush         = "flush"
	FlushPaper    = "flush-paper"
)

// Variant is one way to run a benchmark.
type Variant struct {
	Name     string
	Title    string
	Settings []string // CMPI_* variables; nil: without the library
	host     host
	// Of variants between hosts: the starter in place of host's, with its
	// arguments, what is preloaded before the library, and the iterations of a
	// network on which the usual number would take too long; 0: the usual.
	starter    []string
	before     []string
	iterations int
}

// variants are all ways there are, in the order in which they are shown.
var variants = []Variant{
	{Name: NativeMPICH, Title: "MPICH", host: mpich},
	{Name: NativeOpenMPI, Title: "Open MPI", host: openMPI},
	{Name: Coherent, Title: "cMPI coherent", Settings: []string{"CMPI_COHERENCE=coherent"}, host: mpich},
	{Name: Flush, Title: "cMPI flush", Settings: []string{"CMPI_COHERENCE=flush"}, host: mpich},
	{Name: FlushPaper, Title: "cMPI flush, paper's cells", Settings: []string{"CMPI_COHERENCE=flush", "CMPI_RING=paper"}, host: mpich},
}

// Preloaded says whether the library carries this variant's messages.
func (v Variant) Preloaded() bool { return v.Settings != nil }

// require makes a preloaded job stop rather than run on the MPI library alone,
// which would be measured in place of ours.
const require = "CMPI_REQUIRE=1"

// command is the command line of a program with the given number of ranks.
// The library is preloaded into the program only, not into the starter.
func (v Variant) command(library string, more []string, ranks int, program ...string) []string {
	argv := []string{v.host.starter}
	switch {
	case len(v.starter) > 0:
		argv = slices.Clone(v.starter) // it binds, too
	case ranks <= runtime.NumCPU():
		argv = append(argv, v.host.bind...)
	default:
		argv = append(argv, v.host.crowd...)
	}
	argv = append(argv, "-n", strconv.Itoa(ranks))
	// All go by env, which takes a millisecond of each rank's start.
	argv = append(argv, "env")
	if v.Preloaded() {
		argv = append(argv, "LD_PRELOAD="+strings.Join(append(slices.Clone(v.before), library), ":"), require)
		argv = append(argv, v.Settings...)
		argv = append(argv, more...)
	}
	return append(argv, program...)
}

// environment is ours without settings that would change what is measured;
// they are given by the variant and by Options.Settings alone.
func environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "CMPI_") && !strings.HasPrefix(kv, "LD_PRELOAD=") {
			env = append(env, kv)
		}
	}
	if os.Geteuid() == 0 { // mpirun.openmpi refuses to run as root unless told twice
		env = append(env, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	}
	return env
}

// start runs argv in dir and returns what it printed on stdout. An error has
// the last lines of stderr.
func start(ctx context.Context, dir string, argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = environment()
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// The starter ends its ranks when it is asked to, not when it is killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killDelay
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("no end after %v", runTimeout)
	}
	if err == nil && strings.Contains(stderr.String(), "cannot be preloaded") {
		err = errors.New("the library was not loaded")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w%s", strings.Join(argv, " "), err, lastLines(stderr.String()+stdout.String()))
	}
	return stdout.String(), nil
}

// lastLines are the last few lines of text, each set off by a newline.
func lastLines(text string) string {
	const few = 5
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > few {
		lines = lines[len(lines)-few:]
	}
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	return "\n    " + strings.Join(lines, "\n    ")
}

// compile builds a C program of bench/c with a library's compiler wrapper and
// returns its path.
func (h host) compile(ctx context.Context, sourceDir, outDir, name string) (string, error) {
	out := filepath.Join(outDir, h.name, name)
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, h.compiler, "-O2", "-o", out, filepath.Join(sourceDir, name+".c"),
		"-Wno-stringop-overflow") // gcc takes MPI_STATUSES_IGNORE for an array of length 0
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w%s", strings.Join(cmd.Args, " "), err, lastLines(string(text)))
	}
	return out, nil
}
