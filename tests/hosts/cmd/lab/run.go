package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"cmpi/settings"
	"cmpi/tests/hosts/lab"
)

// runFlags say how a program is run.
type runFlags struct {
	ranks   int
	hosts   string
	library string
	native  bool
	set     []string
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] -- PROGRAM [ARGUMENT...]",
		Short: "Run an MPI program between the hosts",
		Long: `Runs a program built with MPICH, its ranks dealt to the hosts in turn, over the
library, or with --native on MPICH's own network messages.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := open()
			if err != nil {
				return err
			}
			argv, err := f.command(l, args)
			if err != nil {
				return err
			}
			c := exec.CommandContext(cmd.Context(), argv[0], argv[1:]...)
			c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
			if f.hosts != "" {
				c.Env = append(os.Environ(), "CMPILAB_HOSTS="+f.hosts)
			}
			// mpiexec ends its ranks when it is asked to, not when it is killed.
			c.Cancel = func() error { return c.Process.Signal(syscall.SIGINT) }
			c.WaitDelay = 5 * time.Second
			return c.Run()
		},
	}
	fs := cmd.Flags()
	fs.IntVarP(&f.ranks, "ranks", "n", 2, "number of ranks")
	fs.StringVar(&f.hosts, "hosts", "", "these hosts only, as h1,h3 or h1:2,h2:2")
	fs.StringVar(&f.library, "lib", "", "the library (default: build/out/libcmpi.so)")
	fs.BoolVar(&f.native, "native", false, "without the library, over the network")
	fs.StringArrayVar(&f.set, "set", nil, "a setting, as CMPI_COHERENCE=emulate")
	return cmd
}

// command is the command line of a program.
func (f *runFlags) command(l *lab.Lab, program []string) ([]string, error) {
	argv := []string{l.Mpiexec(), "-n", strconv.Itoa(f.ranks)}
	if f.native {
		if len(f.set) > 0 {
			return nil, errors.New("--set is for runs over the library")
		}
		return append(argv, program...), nil
	}
	if _, err := settings.Parse(f.set); err != nil {
		return nil, err
	}
	library := f.library
	if library == "" {
		library = "build/out/libcmpi.so"
	}
	library, err := filepath.Abs(library)
	if err == nil {
		_, err = os.Stat(library)
	}
	if err != nil {
		return nil, fmt.Errorf("the library: %w (make lib builds it; --lib names another)", err)
	}
	argv = append(argv, "env", "LD_PRELOAD="+strings.Join([]string{l.FinalizeFix(), library}, ":"))
	return append(append(argv, f.set...), program...), nil
}

func execCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "exec HOST -- COMMAND [ARGUMENT...]",
		Short: "Run a command in a host",
		Args:  cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := open()
			if err != nil {
				return err
			}
			if _, err := l.Host(args[0]); err != nil {
				return err
			}
			c := l.Command(cmd.Context(), args[0], args[1:]...)
			c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
			return c.Run()
		},
	}
}

func mpiexecCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mpiexec",
		Short: "Print the path of the lab's mpiexec, to be used in place of MPICH's",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := open()
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), l.Mpiexec())
			}
			return err
		},
	}
}

func slurmCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "slurm -- COMMAND [ARGUMENT...]",
		Short: "Run a command on the login node of a Slurm cluster of the hosts",
		Long: `Runs a command where srun, salloc and sbatch have the lab's hosts as their nodes:

    lab slurm -- srun -N 2 -n 4 --mpi=pmi2 ./program

The first one starts Slurm, which ends with the lab. Tasks get CMPI_POOL from the cluster.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := open()
			if err != nil {
				return err
			}
			if !l.HasSlurm() {
				if err := l.StartSlurm(cmd.Context()); err != nil {
					return err
				}
			}
			c := exec.CommandContext(cmd.Context(), l.Login(), args...)
			c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
			// srun ends its tasks when it is asked to, not when it is killed.
			c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
			c.WaitDelay = 5 * time.Second
			return c.Run()
		},
	}
}
