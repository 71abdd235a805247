package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cmpi/tests/hosts/lab"
	"cmpi/tests/process"
)

// nativeMode is the "mode" in which the library is not preloaded; the others are
// values of CMPI_COHERENCE.
const nativeMode = "native"

// verdict is how a run ended.
type verdict string

const (
	passed  verdict = "pass"
	failed  verdict = "fail"
	skipped verdict = "skip"
)

// Outcome is one run of one test.
type Outcome struct {
	Verdict  verdict `json:"verdict"`
	Why      string  `json:"why,omitempty"` // of a run that did not pass
	Seconds  float64 `json:"seconds"`
	TimedOut bool    `json:"timed_out,omitempty"`
	Limit    float64 `json:"limit_s"`          // seconds
	Output   string  `json:"output,omitempty"` // of a run that did not pass
}

// runner runs tests.
type runner struct {
	suite    *suite
	library  string        // preloaded in all modes but the native one
	settings []string      // more CMPI_* for those modes
	limit    time.Duration // of a test that states none
	maxRanks int           // 0: as listed
	xfail    bool          // run what MPICH expects to fail, too
	lab      *lab.Lab      // ranks run in its hosts; nil: on this machine
}

const (
	// killDelay is how long an ended starter's pipes may stay open, and how much
	// later than mpiexec's own limit it is killed itself.
	killDelay = 5 * time.Second
	// endLimit is how long killed ranks may take to disappear: they may have GiBs
	// to unmap.
	endLimit = 20 * time.Second
	// outputLimit is what is kept of a run's output: enough for every list of
	// mistakes that a test prints before it gives up.
	outputLimit = 16 << 10
	// mark is a variable that tells the processes of one run from all others.
	mark = "MPITEST_RUN"
)

// run runs a test in a mode and judges it. Its program has been built if it can
// be. Only what keeps tests from running at all is an error.
func (r *runner) run(ctx context.Context, t Test, mode string) (Outcome, error) {
	limit := r.limit
	if t.Limit > 0 {
		limit = t.Limit
	}
	o := Outcome{Verdict: skipped, Limit: limit.Seconds()}
	switch {
	case len(t.Xfail) > 0 && !r.xfail:
		o.Why = "MPICH expects it to fail: " + strings.Join(t.Xfail, ", ")
		return o, nil
	case t.Memory > availableMemory():
		o.Why = fmt.Sprintf("it needs %g GB of memory", t.Memory)
		return o, nil
	case !r.suite.has(t):
		o.Verdict, o.Why = failed, "it could not be built; see "+r.suite.log("make "+t.Dir)
		return o, nil
	}
	output, status, seconds, err := r.start(ctx, r.argv(t, mode), t, limit)
	if err != nil {
		return o, err
	}
	o.Seconds = seconds
	o.Why = judge(t, output, status)
	// The test init/timeout wants to be ended.
	if o.TimedOut = seconds >= limit.Seconds(); o.TimedOut && o.Why != "" {
		o.Why = fmt.Sprintf("no end within %v", limit)
	}
	if o.Verdict = passed; o.Why != "" {
		o.Verdict = failed
		o.Output = output
	}
	return o, nil
}

// argv is the command that runs a test, in runtests' order.
func (r *runner) argv(t Test, mode string) []string {
	starter, preload := "mpiexec.mpich", r.library
	if r.lab != nil {
		starter, preload = r.lab.Mpiexec(), r.lab.FinalizeFix()+":"+r.library
	}
	argv := append([]string{starter, "-n", strconv.Itoa(r.ranks(t))}, t.MpiexecArgs...)
	if mode != nativeMode {
		argv = append(argv, "env", "LD_PRELOAD="+preload, "CMPI_COHERENCE="+mode, "CMPI_REQUIRE=1")
		argv = append(argv, r.settings...)
	}
	return append(append(argv, "./"+t.Program), t.Args...)
}

func (r *runner) ranks(t Test) int {
	if r.maxRanks > 0 {
		return min(t.Ranks, r.maxRanks)
	}
	return t.Ranks
}

// start runs a command in the test's directory to its end or to the limit, with
// everything that it started.
func (r *runner) start(ctx context.Context, argv []string, t Test, limit time.Duration) (output string, status int, seconds float64, err error) {
	token := strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "LD_PRELOAD=") })
	env = append(env, t.Env...)
	// mpiexec ends its ranks cleanly at its own limit; ours is for mpiexec.
	env = append(env, "MPIEXEC_TIMEOUT="+strconv.Itoa(int(limit.Seconds())), mark+"="+token)
	killCtx, cancel := context.WithTimeout(ctx, limit+killDelay)
	defer cancel()
	var out headWriter
	cmd := exec.CommandContext(killCtx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = r.suite.build(t.Dir), env
	cmd.Stdout, cmd.Stderr = &out, &out // one pipe, as runtests has it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killDelay
	begin := time.Now()
	err = cmd.Run()
	seconds = time.Since(begin).Seconds()
	// Ranks that outlive their mpiexec would spin on the cores of the next test.
	if left := process.EndMarked(mark, token, endLimit); left != nil {
		return "", 0, 0, left
	}
	if ctx.Err() != nil {
		return "", 0, 0, ctx.Err()
	}
	switch {
	case cmd.ProcessState == nil: // it did not start
		return "", 0, 0, err
	case err == nil:
	case errors.As(err, new(*exec.ExitError)):
		status = cmd.ProcessState.ExitCode() // -1: by a signal
	default: // a rank that outlived mpiexec kept the pipe open
		status = -1
		fmt.Fprintf(&out, "%v\n", err)
	}
	return out.String(), status, seconds, nil
}

// headWriter keeps the beginning of what is written to it.
type headWriter struct {
	kept  []byte
	total int
}

var _ io.Writer = (*headWriter)(nil)

func (h *headWriter) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), outputLimit-len(h.kept))]...)
	h.total += len(p)
	return len(p), nil
}

func (h *headWriter) String() string {
	if h.total > len(h.kept) {
		return fmt.Sprintf("%s\n(and %d bytes more)\n", h.kept, h.total-len(h.kept))
	}
	return string(h.kept)
}

// availableMemory is what the kernel would give without swapping, in GB; 0 if it
// does not say.
func availableMemory() float64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "MemAvailable:" {
			kib, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				return 0
			}
			return kib * 1024 / 1e9
		}
	}
	return 0
}
