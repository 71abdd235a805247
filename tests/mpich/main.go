package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cmpi/settings"
	"cmpi/tests/module"
)

// knownFile is the list of tests that fail natively or are excluded.
const knownFile = "known.txt"

//go:embed known.txt
var knownText string

// defaultDirs are the directories of the suite about what the library carries,
// and about what it must not disturb.
var defaultDirs = []string{
	"pt2pt", "comm", "datatype", "attr", "group", "info", "init", "errhan", "topo", basicDir, "part",
	"threads/pt2pt", "threads/comm",
	"f77/pt2pt", "f77/datatype", "f90/pt2pt", "f90/datatype", "f08/pt2pt", "f08/datatype",
	"coll",
}

// errDifferent is the error of a campaign that ended with differences.
var errDifferent = errors.New("tests that pass natively fail over the library")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mpich:", err)
		os.Exit(1)
	}
}

// flags are what the user asked for.
type flags struct {
	dirs, modes, set         []string
	only                     string
	library, suite, out      string
	maxRanks, repeat, hosts  int
	limit                    time.Duration
	nativeAgain, xfail, json bool
	verbose, list            bool
}

func command() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "mpich",
		Short: "MPICH's test suite, natively and over the library",
		Long: `Fetches and builds the test suite of the installed MPICH, runs it natively and
over the library, and compares test by test. The exit status is 1 if a test that
passes natively fails over the library without a reason in known.txt.

results.json, results.tap and results.junit.xml go into the folder --out; native
results are kept from one run to the next.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true, // main prints them
		RunE:          func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&f.dirs, "dirs", defaultDirs, "directories of the suite")
	fs.StringSliceVar(&f.modes, "modes", []string{nativeMode, "coherent"}, nativeMode+", "+strings.Join(libraryModes, ", "))
	fs.StringVar(&f.only, "only", "", "only tests whose line matches this regular expression, as 'pt2pt/bsend. 1'")
	fs.StringVar(&f.library, "library", "", "the library (default: build/out/libcmpi.so)")
	fs.StringVar(&f.suite, "suite", "", "a folder with the suite's src and build, configured already (default: made below build/out/mpich-suite)")
	fs.StringVar(&f.out, "out", "", "folder of the result files (default: build/out/mpich-suite/results)")
	fs.StringArrayVar(&f.set, "set", nil, "a setting for all runs over the library, as CMPI_SINGLE_COPY=off")
	fs.IntVar(&f.maxRanks, "maxnp", 0, "run tests that are listed with more ranks with this many (default: as listed)")
	fs.IntVar(&f.hosts, "hosts", 0, "run the ranks in this many hosts (tests/hosts/lab), natively over TCP; needs root")
	fs.IntVar(&f.repeat, "repeat", 1, "run each test over the library this often")
	fs.DurationVar(&f.limit, "timeout", time.Minute, "time for one run of a test that states none itself")
	fs.BoolVar(&f.nativeAgain, "native-again", false, "run natively again what has been run before")
	fs.BoolVar(&f.xfail, "xfail", false, "run tests that MPICH expects to fail, too")
	fs.BoolVar(&f.json, "json", false, "print JSON instead of tables")
	fs.BoolVar(&f.list, "list", false, "only list the tests")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "a line per run")
	return cmd
}

func (f *flags) run(cmd *cobra.Command) error {
	c, err := f.campaign(cmd)
	if err != nil {
		return err
	}
	if f.hosts > 0 {
		c.runner.lab, err = newLab(cmd.Context(), f.hosts, labPool, []string{c.runner.suite.root, filepath.Dir(f.library)})
		if err != nil {
			return err
		}
		defer func() {
			if err := c.runner.lab.Down(); err != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), "mpich:", err)
			}
		}()
	}
	if f.list {
		tests, err := c.tests(cmd.Context())
		for _, t := range tests {
			fmt.Fprintln(cmd.OutOrStdout(), t.ID())
		}
		return err
	}
	report, err := c.run(cmd.Context())
	if writeErr := f.write(cmd.OutOrStdout(), report); writeErr != nil {
		return errors.Join(err, writeErr)
	}
	if err != nil {
		return err
	}
	if n := report.differences(); n > 0 {
		return fmt.Errorf("%w: %d", errDifferent, n)
	}
	return nil
}

// campaign readies the suite and all that the flags say.
func (f *flags) campaign(cmd *cobra.Command) (*campaign, error) {
	root, err := module.Root()
	if err != nil {
		return nil, err
	}
	work := filepath.Join(root, "build/out/mpich-suite")
	if f.out == "" {
		f.out = filepath.Join(work, "results")
	}
	if f.library == "" {
		f.library = filepath.Join(root, "build/out/libcmpi.so")
	}
	c := &campaign{dirs: f.dirs, modes: f.modes, nativeAgain: f.nativeAgain, repeat: max(1, f.repeat)}
	if err := checkModes(f.modes); err != nil {
		return nil, err
	}
	if _, err := settings.Parse(f.set); err != nil {
		return nil, err
	}
	if f.only != "" {
		if c.only, err = regexp.Compile(f.only); err != nil {
			return nil, fmt.Errorf("--only: %w", err)
		}
	}
	if c.known, err = parseKnown(strings.NewReader(knownText)); err != nil {
		return nil, fmt.Errorf("%s, %w", knownFile, err)
	}
	if f.library, err = filepath.Abs(f.library); err == nil {
		_, err = os.Stat(f.library)
	}
	if err != nil {
		return nil, fmt.Errorf("the library: %w (make lib builds it)", err)
	}
	s, err := openSuite(cmd.Context(), work, f.suite, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	c.runner = runner{suite: s, library: f.library, settings: f.set, limit: f.limit, maxRanks: f.maxRanks, xfail: f.xfail}
	c.observe = f.observer(cmd)
	return c, nil
}

// write prints the report and puts the files beside it.
func (f *flags) write(stdout io.Writer, report *Report) error {
	if len(report.Rows) == 0 {
		return nil
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer) error{
		"results.json": report.WriteJSON, "results.tap": report.WriteTAP, "results.junit.xml": report.WriteJUnit,
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(f.out, name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if f.json {
		return report.WriteJSON(stdout)
	}
	report.WriteText(stdout)
	return nil
}

// observer shows the campaign's progress: a line per run, a bar on a terminal,
// else a line per directory.
func (f *flags) observer(cmd *cobra.Command) func(done, total int, t Test, mode string, o *Outcome) {
	w := cmd.ErrOrStderr()
	if f.verbose {
		return func(done, total int, t Test, mode string, o *Outcome) {
			if o != nil {
				fmt.Fprintf(w, "%4d/%d %-8s %s %6.1f s  %s\n", done+1, total, mode, o.Verdict, o.Seconds, strings.TrimSpace(t.ID()+"  "+o.Why))
			}
		}
	}
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		dir := ""
		return func(done, total int, t Test, _ string, _ *Outcome) {
			if t.Dir != dir {
				dir = t.Dir
				fmt.Fprintf(w, "mpich: %d of %d tests done, now %s\n", done, total, dir)
			}
		}
	}
	var bar *progressbar.ProgressBar
	return func(done, total int, t Test, mode string, o *Outcome) {
		if bar == nil {
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(30),
				progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish())
		}
		bar.Describe(fmt.Sprintf("%-8s %-32s", mode, t.Name()))
		if o != nil {
			done++
		}
		_ = bar.Set(done) // a bar that can't be drawn is no reason to stop
	}
}
