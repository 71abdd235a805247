package main

import (
	"os"

	"github.com/spf13/cobra"

	"cmpi/bench"
)

func demoCommand() *cobra.Command {
	var lib string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run one MPI program with and without the library, side by side",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			library, err := findLibrary(lib)
			if err != nil {
				return err
			}
			work, err := os.MkdirTemp("", "cmpi-demo-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(work)
			return bench.Demo(cmd.Context(), cmd.OutOrStdout(), bench.Options{Library: library, WorkDir: work})
		},
	}
	libraryFlag(cmd, &lib)
	return cmd
}
