package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

	"github.com/spf13/cobra"

	"cmpi/arena"
	"cmpi/cmd/cmpi/probe"
	"cmpi/flush"
	"cmpi/settings"
)

// probeReport is what one process of a probe prints, in one line behind
// probeMark.
type probeReport struct {
	probe.Report
	Version      string `json:"version"` // of this command
	Library      string `json:"library"` // digest
	LibraryError string `json:"library_error,omitempty"`
}

// probeMark tells a report from whatever else comes out of a launcher.
const probeMark = "CMPI-PROBE "

// probeTimeout bounds a probe; opening and exchanging take milliseconds, hosts
// may start seconds apart.
const probeTimeout = 10 * time.Second

// startTimeout is how long a launcher may take to start processes and to end.
const startTimeout = 10 * time.Second

// probeCommand is what cmpi doctor starts, on this host or through a launcher.
func probeCommand() *cobra.Command {
	var (
		lib  string
		c    probe.Config
		mode string
	)
	cmd := &cobra.Command{
		Use:    "probe",
		Short:  "One process of a check that cmpi doctor makes",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.Size == 0 {
				if err := placeFromEnvironment(&c, os.Getenv); err != nil {
					return err
				}
			}
			r := runProbe(c, lib, mode)
			text, err := json.Marshal(r)
			if err != nil {
				return err
			}
			// One write, so that a launcher passes it on in one piece.
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s%s\n", probeMark, text)
			return err
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&lib, "lib", "", "the library")
	fs.StringVar(&c.Pool.Path, "pool", "", "the pool")
	fs.StringVar(&c.Token, "token", "", "name of this probe")
	fs.StringVar(&mode, "mode", "flush", "coherence mode")
	fs.IntVar(&c.Rank, "rank", 0, "rank of this process")
	fs.IntVar(&c.Size, "size", 0, "number of processes (default: the launcher's)")
	fs.BoolVar(&c.Make, "make", false, "make the pool, and remove it")
	fs.DurationVar(&c.Timeout, "limit", probeTimeout, "how long to wait for the others")
	return cmd
}

// placeFromEnvironment takes rank and size from the launcher.
func placeFromEnvironment(c *probe.Config, getenv func(string) string) (err error) {
	for _, names := range [][2]string{{"PMI_RANK", "PMI_SIZE"}, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"SLURM_PROCID", "SLURM_NTASKS"}} {
		if c.Rank, err = strconv.Atoi(getenv(names[0])); err != nil {
			continue
		}
		if c.Size, err = strconv.Atoi(getenv(names[1])); err == nil {
			return nil
		}
	}
	return errors.New("the launcher does not say which rank this is")
}

func runProbe(c probe.Config, lib, mode string) probeReport {
	r := probeReport{Version: version}
	if text, err := os.ReadFile(lib); err != nil {
		r.LibraryError = err.Error()
	} else {
		sum := sha256.Sum256(text)
		r.Library = hex.EncodeToString(sum[:8])
	}
	s, err := settings.Parse(os.Environ())
	if err == nil {
		c.Pool.HostID, c.Pool.Flush = arena.KernelID(s.Host), flush.Options{NoVector: s.NoVector, Seed: s.Seed, Chaos: s.Chaos}
		c.Pool.LockTimeout = c.Timeout
		c.Pool.Mode, err = flush.ParseMode(mode)
	}
	if err == nil {
		err = guarded(c.Pool.Path, func() error { r.Report = probe.Run(c); return nil })
	}
	if err != nil {
		r.Report.Rank, r.Report.Error = c.Rank, err.Error()
	}
	return r
}

// probeArgs are the arguments of probeCommand that all processes share.
func probeArgs(c probe.Config, lib, mode string) []string {
	args := []string{"probe", "--lib", lib, "--pool", c.Pool.Path, "--token", c.Token, "--mode", mode, "--limit", c.Timeout.String()}
	if c.Make {
		args = append(args, "--make")
	}
	return args
}

// probeHere runs the processes of a probe on this host.
func probeHere(ctx context.Context, self string, c probe.Config, lib, mode string) ([]probeReport, error) {
	args := append(probeArgs(c, lib, mode), "--size", strconv.Itoa(c.Size))
	type result struct {
		reports []probeReport
		err     error
	}
	results := make(chan result)
	for rank := range c.Size {
		go func() {
			reports, err := startProbe(ctx, c, slices.Concat([]string{self}, args, []string{"--rank", strconv.Itoa(rank)}))
			results <- result{reports, err}
		}()
	}
	var reports []probeReport
	var failed error
	for range c.Size {
		r := <-results
		reports = append(reports, r.reports...)
		if r.err != nil {
			failed = r.err
		}
	}
	return reports, failed
}

// startProbe runs a command line and gathers the reports that it prints.
func startProbe(ctx context.Context, c probe.Config, argv []string) ([]probeReport, error) {
	limit := c.Timeout + startTimeout
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := politeCommand(ctx, argv)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	reports := gatherReports(&out)
	switch {
	case ctx.Err() != nil:
		return reports, fmt.Errorf("not finished within %v", limit)
	case err != nil:
		if text := lastLine(errs.String()); text != "" {
			return reports, errors.New(text)
		}
		return reports, err
	}
	return reports, nil
}

// politeCommand is a command that is asked to end when ctx does, so that a
// launcher ends what it has started elsewhere.
func politeCommand(ctx context.Context, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// gatherReports finds the reports in what a launcher prints.
func gatherReports(r io.Reader) (reports []probeReport) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		_, text, ok := strings.Cut(lines.Text(), probeMark)
		var p probeReport
		if ok && json.Unmarshal([]byte(text), &p) == nil {
			reports = append(reports, p)
		}
	}
	return reports
}

// lastLine is the last line of a text that says something: launchers put the
// reason there, below a stack of their own.
func lastLine(text string) (last string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
	}
	return last
}
