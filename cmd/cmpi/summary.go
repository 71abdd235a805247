package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// runSummary is how a run went.
type runSummary struct {
	Program   []string `json:"program"`
	Launcher  string   `json:"launcher"`
	Status    int      `json:"exit_status"`
	Signal    string   `json:"signal,omitempty"` // that ended the launcher
	Seconds   float64  `json:"seconds"`          // wall time
	Carried   bool     `json:"carried"`          // by cMPI
	Ranks     int      `json:"ranks,omitempty"`
	Mode      string   `json:"mode,omitempty"`
	Pool      string   `json:"pool,omitempty"`
	PoolMiB   int64    `json:"pool_mib,omitempty"`
	Counted   string   `json:"counted,omitempty"` // with CMPI_STATS=1, in words
	NotReason string   `json:"not_carried_because,omitempty"`
}

// Lines of the library's rank 0, as package shim writes them.
var (
	carriedLine = regexp.MustCompile(`^cmpi: (\d+) ranks over (.*) \((\d+) MiB\), (\w+) mode$`)
	countedLine = regexp.MustCompile(`^cmpi: \d+ ranks: (\S+ messages, .*)$`)
	aloneLine   = regexp.MustCompile(`^cmpi: (.*); (?:running on the host MPI alone|stopping because CMPI_REQUIRE=1)$`)
)

// take learns from a line of the ranks' standard error; it says whether the user
// is not to see it: the summary repeats what was counted, and what is used if only
// we asked for that (quiet). Of several jobs it tells about the first.
func (s *runSummary) take(line string, quiet bool) (drop bool) {
	if s.Carried {
		m := countedLine.FindStringSubmatch(line)
		if m == nil || s.Counted != "" {
			return false
		}
		s.Counted = m[1]
		return true
	}
	if m := carriedLine.FindStringSubmatch(line); m != nil {
		s.Carried = true
		s.Ranks, _ = strconv.Atoi(m[1]) // digits
		s.Pool, s.Mode = m[2], m[4]
		s.PoolMiB, _ = strconv.ParseInt(m[3], 10, 64)
		return quiet
	}
	if m := aloneLine.FindStringSubmatch(line); m != nil {
		s.NotReason = m[1]
	}
	return false
}

// write prints the summary in one line.
func (s *runSummary) write(w io.Writer, asJSON bool) error {
	if asJSON {
		line, err := json.Marshal(s)
		if err == nil {
			_, err = fmt.Fprintf(w, "%s\n", line)
		}
		return err
	}
	how := fmt.Sprintf("exit status %d", s.Status)
	if s.Signal != "" {
		how += " (" + s.Signal + ")"
	}
	what := "not carried: the ranks did not say why (no MPI program, CMPI_DISABLE, or ended before MPI_Init)"
	switch {
	case s.Carried:
		what = fmt.Sprintf("%d ranks over %s (%d MiB), %s mode", s.Ranks, s.Pool, s.PoolMiB, s.Mode)
		if s.Counted != "" {
			what += "; " + s.Counted
		}
	case s.NotReason != "":
		what = "not carried: " + s.NotReason
	}
	_, err := fmt.Fprintf(w, "cmpi: %s, %.2f s, %s\n", how, s.Seconds, what)
	return err
}

// summarize runs a launcher and watches how it goes. Its standard error passes
// through, but for what the summary says.
func summarize(argv []string, stderr io.Writer, quiet bool) (*runSummary, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	lines, pipe := io.Pipe()
	cmd.Stderr = pipe
	cmd.WaitDelay = outputDelay
	running := make(chan struct{})
	stop := forwardSignals(func(s os.Signal) {
		<-running
		_ = cmd.Process.Signal(s) // it may have ended just now
	})
	defer stop()
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", argv[0], err)
	}
	close(running)
	s, read := &runSummary{}, make(chan struct{})
	go func() {
		s.filter(stderr, lines, quiet)
		close(read)
	}()
	err := cmd.Wait()
	pipe.Close()
	<-read
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it succeeded, and left something running
	}
	s.Status, s.Signal, err = exitOf(err)
	s.Seconds = time.Since(start).Seconds()
	return s, err
}

// outputDelay is how long what a launcher leaves behind may keep us waiting
// with its standard error.
const outputDelay = time.Second

// filter passes text on and learns from its lines until the end of what it
// reads. Only what begins as our own lines do is held until the line is there:
// the rest, a prompt for example, must not wait.
func (s *runSummary) filter(w io.Writer, from io.Reader, quiet bool) {
	const ours = "cmpi: "
	r := bufio.NewReader(from)
	for atStart := true; ; {
		if _, err := r.Peek(1); err != nil {
			return
		}
		chunk, _ := r.Peek(r.Buffered())
		if atStart && strings.HasPrefix(ours, string(chunk[:min(len(chunk), len(ours))])) {
			line, _ := r.ReadString('\n') // the last one may have no end
			if !s.take(strings.TrimSuffix(line, "\n"), quiet) {
				_, _ = io.WriteString(w, line) // nobody to tell when stderr is gone
			}
			continue
		}
		if i := bytes.IndexByte(chunk, '\n'); i >= 0 {
			chunk = chunk[:i+1]
		}
		atStart = chunk[len(chunk)-1] == '\n'
		_, _ = w.Write(chunk)
		_, _ = r.Discard(len(chunk))
	}
}

// forwardSignals hands on what is sent to this process, until stop is called.
// What a terminal sends goes to all processes in its foreground, the launcher
// among them, which must not get it twice: a second interrupt means more to it.
func forwardSignals(to func(os.Signal)) (stop func()) {
	signals := []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}
	typed := []os.Signal{syscall.SIGINT, syscall.SIGQUIT}
	ch := make(chan os.Signal, 16)
	for _, s := range append(signals, typed...) {
		if !signal.Ignored(s) { // what we were told to ignore, the launcher ignores
			signal.Notify(ch, s)
		}
	}
	foreground := inForeground()
	go func() {
		for s := range ch {
			if foreground && (s == syscall.SIGINT || s == syscall.SIGQUIT) {
				continue
			}
			to(s)
		}
	}()
	return func() { signal.Stop(ch); close(ch) }
}

// inForeground says whether this process is in the foreground of a terminal.
func inForeground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
