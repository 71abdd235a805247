// Command cmpi is what a person uses around the library: it runs MPI programs
// over it, says what it finds on this machine, and measures.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := rootCommand().ExecuteContext(ctx)
	stop()
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
	root.AddCommand(runCommand(), demoCommand(), benchCommand(), infoCommand(), versionCommand())
	return root
}
