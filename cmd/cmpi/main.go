// Command cmpi is what a person uses around the library: it runs MPI programs
// over it, says what it finds on this machine, and measures.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	var signals []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		if !signal.Ignored(s) { // as under nohup, and so for what we start
			signals = append(signals, s)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	if len(signals) > 0 { // none would mean all
		ctx, stop = signal.NotifyContext(ctx, signals...)
	}
	err := rootCommand().ExecuteContext(ctx)
	stop()
	if status := exitStatus(1); errors.As(err, &status) {
		os.Exit(int(status))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cmpi:", err)
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "cmpi",
		Short: "MPI messages through memory that several hosts share",
		Long: `cMPI carries the messages of unmodified MPI programs through shared memory: a
CXL pool seen as /dev/daxX.Y, or a file that all ranks can map.`,
		SilenceUsage:  true,
		SilenceErrors: true, // main prints them
	}
	root.AddCommand(runCommand(), demoCommand(), benchCommand(), infoCommand(), doctorCommand(), poolCommand(),
		statsCommand(), topCommand(), versionCommand(), manCommand(), probeCommand())
	return root
}
