package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cmpi/bench"
)

// benchFlags are what the user asked cmpi bench for.
type benchFlags struct {
	lib, out, page string
	asJSON, strict bool
	options        bench.Options
}

func benchCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure with and without the library, and against the limits",
		Long: `Runs small unmodified MPI programs natively on MPICH and Open MPI and over the
library in several modes, interleaved, one rank per core, and prints medians,
spread, ratios, and whether the targets are met. Beside the tables it writes
bench.json (every value), bench.md, and plots of latency and bandwidth.

Keep the machine idle while it runs; a full run takes more than an hour, --only picks.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fs := cmd.Flags()
	libraryFlag(cmd, &f.lib)
	fs.StringVar(&f.out, "out", "cmpi-bench", "folder for results and programs")
	fs.StringVar(&f.page, "update-page", "", "a markdown page whose measured part is replaced, as docs/performance.md; plots go into its img folder")
	fs.BoolVar(&f.asJSON, "json", false, "print JSON instead of tables")
	fs.BoolVar(&f.strict, "strict", false, "exit with an error if a target is not met")
	fs.IntVarP(&f.options.Repetitions, "repetitions", "r", 5, "repetitions of everything")
	fs.BoolVar(&f.options.Quick, "quick", false, "three sizes, few iterations, one repetition: to try the harness, not to measure")
	fs.IntVar(&f.options.Pairs, "pairs", 1, "pairs of ranks of the message rate and of the benchmarks get_multi-*")
	fs.StringSliceVar(&f.options.Only, "only", nil, "only these benchmarks: "+strings.Join(bench.Names(), ","))
	fs.StringArrayVar(&f.options.Settings, "set", nil, "a setting for all runs over the library, as CMPI_POOL=/dev/dax0.0")
	fs.StringVar(&f.options.OSUDir, "osu-dir", "", "run the OSU micro-benchmarks installed here (built with MPICH) instead of ours")
	fs.StringVar(&f.options.OSUDirOpen, "osu-dir-openmpi", "", "the same, built with Open MPI")
	return cmd
}

func (f *benchFlags) run(cmd *cobra.Command) error {
	var err error
	if f.options.Library, err = findLibrary(f.lib); err != nil {
		return err
	}
	if f.options.Quick && !cmd.Flags().Changed("repetitions") {
		f.options.Repetitions = 1
	}
	if f.options.WorkDir, err = filepath.Abs(filepath.Join(f.out, "work")); err != nil {
		return err
	}
	if err := os.MkdirAll(f.options.WorkDir, 0o755); err != nil {
		return err
	}
	if !bench.EnoughCores() {
		fmt.Fprintln(cmd.ErrOrStderr(), "cmpi: this machine has one core: the figures will be those of its scheduler")
	}
	f.options.Version = version
	f.options.Progress = bench.Progress("cmpi bench")

	report, err := bench.Run(cmd.Context(), f.options)
	if err != nil {
		return err
	}
	if err := f.write(cmd, report); err != nil {
		return err
	}
	return f.verdict(report)
}

// write prints the report and puts the files beside it.
func (f *benchFlags) write(cmd *cobra.Command, report *bench.Report) error {
	if err := report.Print(cmd.OutOrStdout(), f.asJSON); err != nil {
		return err
	}
	return report.Save(f.out, f.page)
}

// verdict is the exit status: runs that failed always count, targets if asked.
func (f *benchFlags) verdict(report *bench.Report) error {
	if n := len(report.Errors); n > 0 {
		return fmt.Errorf("%d measurements failed; the first: %s", n, report.Errors[0])
	}
	if f.strict {
		for _, t := range report.Targets {
			if !t.Met {
				return errors.New("not met: " + t.Text)
			}
		}
	}
	return nil
}
