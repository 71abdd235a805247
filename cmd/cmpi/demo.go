package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"cmpi/bench"
)

func demoCommand() *cobra.Command {
	var lib, out string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run one MPI program with and without the library, side by side",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			library, err := findLibrary(lib)
			if err != nil {
				return err
			}
			if out == "" {
				if out, err = os.MkdirTemp("", "cmpi-demo-"); err != nil {
					return err
				}
				defer os.RemoveAll(out)
			}
			if out, err = filepath.Abs(out); err != nil {
				return err
			}
			return bench.Demo(cmd.Context(), cmd.OutOrStdout(), bench.Options{Library: library, WorkDir: out})
		},
	}
	libraryFlag(cmd, &lib)
	cmd.Flags().StringVar(&out, "out", "", "folder to build the program in and leave it (default: a temporary one)")
	return cmd
}
