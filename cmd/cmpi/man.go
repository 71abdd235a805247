package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write the manual pages",
		Long: `Writes the manual pages of this command and all below it, cmpi.1, cmpi-run.1 and so
on, into FOLDER, which is made if it is missing. They say what --help says, and
are dated SOURCE_DATE_EPOCH or today.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			header := &doc.GenManHeader{Section: "1", Source: "cMPI " + version, Manual: "cMPI"}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return err
			}
			pages, _ := filepath.Glob(filepath.Join(args[0], "cmpi*.1")) // the pattern is right
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "wrote %s to %s\n", plural(len(pages), "page"), args[0])
			return err
		},
	}
}
