package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cmpi/bench"
	"cmpi/tests/hosts/lab"
)

// slowIterations are enough for small messages of 30 µs, and end in minutes with
// large ones.
const slowIterations = 500

// benchFlags are what the user asked bench for.
type benchFlags struct {
	out, page        string
	asJSON, realtime bool
	options          bench.Options
}

func benchCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure between two hosts: over the pool, and MPICH over TCP, plain and slow",
		Long: `Makes a lab of two hosts, one processor each, and measures latency and bandwidth
of messages, puts and gets between them: over the library in flush mode, by MPICH
over TCP on a plain virtual cable, and by MPICH over TCP on a network like gigabit
Ethernet. Beside the tables it writes bench.json (every value), bench.md and plots.

Keep the machine idle while it runs; --quick is to try it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.options.Library, "lib", "build/out/libcmpi.so", "the library")
	fs.StringVar(&f.out, "out", "build/out/bench-hosts", "folder for results and programs")
	fs.StringVar(&f.page, "update-page", "", "a markdown page whose part measured between hosts is replaced, as docs/performance.md; plots go into its img folder")
	fs.BoolVar(&f.asJSON, "json", false, "print JSON instead of tables")
	fs.BoolVar(&f.realtime, "realtime", false, "give the slow network's switch real-time priority: on two cores it has none to itself")
	fs.IntVarP(&f.options.Repetitions, "repetitions", "r", 5, "repetitions of everything")
	fs.BoolVar(&f.options.Quick, "quick", false, "three sizes, few iterations, one repetition: to try the harness, not to measure")
	fs.StringSliceVar(&f.options.Only, "only", nil, "only these benchmarks: "+strings.Join(bench.HostsNames(), ","))
	fs.StringArrayVar(&f.options.Settings, "set", nil, "a setting for the runs over the library")
	fs.StringVar(&f.options.OSUDir, "osu-dir", "", "run the OSU micro-benchmarks installed here (built with MPICH) instead of ours")
	return cmd
}

func (f *benchFlags) run(cmd *cobra.Command) (err error) {
	if f.options.Library, err = filepath.Abs(f.options.Library); err != nil {
		return err
	}
	if f.options.Quick && !cmd.Flags().Changed("repetitions") {
		f.options.Repetitions = 1
	}
	if f.out, err = filepath.Abs(f.out); err != nil {
		return err
	}
	f.options.WorkDir = filepath.Join(f.out, "work")
	if err := os.MkdirAll(f.options.WorkDir, 0o755); err != nil {
		return err
	}
	if !bench.EnoughCores() {
		fmt.Fprintln(cmd.ErrOrStderr(), "lab: this machine has one core: the figures will be those of its scheduler")
	}
	keep := []string{filepath.Dir(f.options.Library), f.out}
	if f.options.OSUDir != "" {
		keep = append(keep, f.options.OSUDir)
	}
	l, err := lab.Up(cmd.Context(), lab.Config{Name: fmt.Sprintf("bench-%d", os.Getpid()), Hosts: 2, Keep: keep})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Down()) }()
	slow := lab.Ethernet
	slow.Realtime = f.realtime
	if err := l.StartSlow(cmd.Context(), slow); err != nil {
		return err
	}
	on := func(device string) []string { return []string{"env", "CMPILAB_NET=" + device, l.Mpiexec()} }
	f.options.Hosts = &bench.Hosts{
		Mpiexec: on(lab.Device),
		Before:  []string{l.FinalizeFix()},
		Networks: []bench.Network{
			{Name: bench.Ethernet, Title: "MPICH, TCP", Mpiexec: on(lab.Device)},
			{Name: bench.SlowEthernet, Title: "MPICH, TCP, slow", Mpiexec: on(lab.SlowDevice), Iterations: slowIterations},
		},
	}
	if text, err := os.ReadFile("build/VERSION"); err == nil { // else the report says none
		f.options.Version = strings.TrimSpace(string(text))
	}
	f.options.Progress = bench.Progress("lab bench")
	report, err := bench.Run(cmd.Context(), f.options)
	if err != nil {
		return err
	}
	return f.write(cmd, report)
}

// write prints the report and puts the files beside it. A run that failed is an
// error.
func (f *benchFlags) write(cmd *cobra.Command, report *bench.Report) error {
	if err := report.Print(cmd.OutOrStdout(), f.asJSON); err != nil {
		return err
	}
	if err := report.Save(f.out, f.page); err != nil {
		return err
	}
	if all := append(report.Errors, report.PeerErrors...); len(all) > 0 {
		return fmt.Errorf("%d measurements failed; the first: %s", len(all), all[0])
	}
	return nil
}
