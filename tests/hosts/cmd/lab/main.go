// Command lab makes hosts on one machine (package lab) and runs MPI programs
// between them, over the library:
//
//	go run ./tests/hosts/cmd/lab up -n 2
//	go run ./tests/hosts/cmd/lab run -n 2 -- ./program
//	go run ./tests/hosts/cmd/lab down
//
// docs/hosts.md has more.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"cmpi/tests/hosts/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	// What was run in the lab has said itself what was wrong.
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if code := exit.ExitCode(); code > 0 {
			os.Exit(code)
		}
		os.Exit(1)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// name is the lab that a command is about.
var name string

func command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Several hosts on one machine, which share a pool",
		Long: `Makes hosts out of namespaces that share nothing but a pool, starts MPI programs
in them, and switches hosts and networks off. Root is needed.`,
		SilenceUsage:  true,
		SilenceErrors: true, // main prints them
	}
	cmd.PersistentFlags().StringVar(&name, "name", "lab", "name of the lab; several can be up at once")
	cmd.AddCommand(upCommand(), listCommand(), runCommand(), execCommand(), mpiexecCommand(), slurmCommand(),
		hostCommand("kill HOST", "Switch a host off: all its processes end at once", func(_ context.Context, l *lab.Lab, host string) error { return l.Kill(host) }),
		hostCommand("start HOST", "Start a host that is off, with a new boot id", func(ctx context.Context, l *lab.Lab, host string) error { return l.Restart(ctx, host) }),
		hostCommand("cut HOST", "Take a host's network down; no connection is closed", func(ctx context.Context, l *lab.Lab, host string) error { return l.Cut(ctx, host) }),
		hostCommand("mend HOST", "Take a host's network up again", func(ctx context.Context, l *lab.Lab, host string) error { return l.Mend(ctx, host) }),
		slowCommand(), benchCommand(), downCommand())
	return cmd
}

// hostCommand does something to one host.
func hostCommand(use, short string, do func(context.Context, *lab.Lab, string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := open()
			if err != nil {
				return err
			}
			return do(cmd.Context(), l, args[0])
		},
	}
}

// open finds the lab of --name.
func open() (*lab.Lab, error) {
	l, err := lab.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no lab %q; \"up\" makes it, \"list\" shows what there is", name)
	}
	return l, err
}
