package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"cmpi/settings"
)

// runFlags are what the user asked cmpi run for.
type runFlags struct {
	launcherFlags
	lib     string
	set     []string
	summary bool
	asJSON  bool
	dry     bool
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [-n RANKS] [--set CMPI_NAME=VALUE]... [--] PROGRAM [ARGUMENT]...",
		Short: "Start an MPI program over the library",
		Long: `Starts an MPI program over the library. It is short for

    mpiexec.mpich -n RANKS -genv CMPI_NAME VALUE -genv LD_PRELOAD .../libcmpi.so PROGRAM ARGUMENT...

with the settings checked before anything starts. The library is preloaded into
the ranks, not into the launcher. The exit status is the launcher's, which is the
program's, and signals reach it.

The launcher is mpiexec.mpich or mpiexec; srun when there is neither inside a Slurm
allocation, or with --launcher srun. srun gets --mpi=pmi2, which MPICH understands,
unless SLURM_MPI_TYPE or --launcher-arg=--mpi=... says otherwise. Further options
of the launcher are passed on by --launcher-arg, one each.`,
		Example: `  cmpi run -n 4 ./program
  cmpi run -n 2 --hosts a,b --set CMPI_POOL=/dev/dax0.0 --summary -- ./program --verbose
  cmpi run -n 2 --launcher-arg=-bind-to --launcher-arg=core ./program`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, program []string) error { return f.run(cmd, program) },
	}
	libraryFlag(cmd, &f.lib)
	f.add(cmd)
	fs := cmd.Flags()
	fs.IntVarP(&f.ranks, "np", "n", 0, "number of ranks (default 2; in a Slurm allocation what the launcher takes)")
	fs.StringArrayVar(&f.set, "set", nil, "a setting, as CMPI_COHERENCE=flush (cmpi info lists them)")
	fs.BoolVar(&f.summary, "summary", false, "say at the end, in one line on stderr, how it went and what carried the messages; with --set CMPI_STATS=1 how many, too")
	fs.BoolVar(&f.asJSON, "json", false, "with --summary: print it as JSON, in one line")
	fs.BoolVar(&f.dry, "dry-run", false, "print the launcher's command line instead of running it")
	fs.SetInterspersed(false) // what follows the program is the program's
	_ = cmd.RegisterFlagCompletionFunc("set", completeSetting)
	return cmd
}

// completeSetting offers the names of settings.
func completeSetting(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, v := range settings.Table() {
		names = append(names, cobra.CompletionWithDesc(v.Name+"=", v.Meaning))
	}
	return names, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// defaultRanks is for a single machine; two are the fewest that communicate.
const defaultRanks = 2

func (f *runFlags) run(cmd *cobra.Command, program []string) error {
	if f.asJSON && !f.summary {
		return errors.New("--json is for --summary")
	}
	if f.ranks < 0 {
		return fmt.Errorf("-n %d: give a number of ranks", f.ranks)
	}
	if f.ranks == 0 && !inAllocation(os.Getenv) {
		f.ranks = defaultRanks
	}
	library, err := findLibrary(f.lib)
	if err != nil {
		return err
	}
	variables, err := rankVariables(os.Environ(), library, f.set)
	if err != nil {
		return err
	}
	l, err := f.find()
	if err != nil {
		return err
	}
	quiet := false // the program's own line is not for the user
	if f.summary {
		variables, quiet = verbose(variables)
	}
	argv := l.command(&f.launcherFlags, variables, program)
	if f.dry {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), shellLine(argv))
		return err
	}
	if f.summary {
		s, err := summarize(argv, cmd.ErrOrStderr(), quiet)
		if err != nil {
			return err
		}
		s.Launcher, s.Program = l.path, program
		if err := s.write(cmd.ErrOrStderr(), f.asJSON); err != nil {
			return err
		}
		if s.Status != 0 {
			return exitStatus(s.Status)
		}
		return nil
	}
	// The launcher takes this process's place, so signals and exit status are its.
	return fmt.Errorf("%s: %w", l.path, syscall.Exec(l.path, argv, os.Environ()))
}

// verbose makes rank 0 say what is used; quiet: it would not have done so.
func verbose(variables []string) (list []string, quiet bool) {
	const on = "CMPI_VERBOSE=1"
	quiet = true
	for _, v := range variables {
		if v == on {
			quiet = false
		}
		if !strings.HasPrefix(v, "CMPI_VERBOSE=") {
			list = append(list, v)
		}
	}
	return append([]string{on}, list...), quiet
}

// shellLine is a command line as one types it.
func shellLine(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$`!*?[](){}<>|&;#~") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words[i] = a
	}
	return strings.Join(words, " ")
}

// exitOf is the exit status by which a shell would know how a command ended.
func exitOf(err error) (status int, signal string, other error) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0, "", err
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), ws.Signal().String(), nil
	}
	return exit.ExitCode(), "", nil
}
