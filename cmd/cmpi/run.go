package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"cmpi/settings"
)

func runCommand() *cobra.Command {
	var (
		lib, starter string
		ranks        int
		set          []string
	)
	cmd := &cobra.Command{
		Use:   "run [-n RANKS] [--set CMPI_NAME=VALUE]... [--] PROGRAM [ARGUMENT]...",
		Short: "Start an MPI program over the library",
		Long: `Starts an MPI program over the library. It is short for

  CMPI_NAME=VALUE LD_PRELOAD=.../libcmpi.so mpiexec.mpich -n RANKS PROGRAM ARGUMENT...

and replaces itself by that command. For other options of mpiexec, write that
line yourself.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, program []string) error {
			library, err := findLibrary(lib)
			if err != nil {
				return err
			}
			env, err := runEnvironment(os.Environ(), library, set)
			if err != nil {
				return err
			}
			path, err := findStarter(starter)
			if err != nil {
				return err
			}
			argv := append([]string{path, "-n", strconv.Itoa(ranks)}, program...)
			return fmt.Errorf("%s: %w", path, syscall.Exec(path, argv, env))
		},
	}
	libraryFlag(cmd, &lib)
	cmd.Flags().IntVarP(&ranks, "np", "n", 2, "number of ranks")
	cmd.Flags().StringArrayVar(&set, "set", nil, "a setting, as CMPI_COHERENCE=flush (cmpi info lists them)")
	cmd.Flags().StringVar(&starter, "mpiexec", "", "the command that starts the ranks (default: mpiexec.mpich, else mpiexec)")
	cmd.Flags().SetInterspersed(false) // what follows the program is the program's
	return cmd
}

// runEnvironment is environ with the library preloaded and the settings added,
// once they are known to be right.
func runEnvironment(environ []string, library string, set []string) ([]string, error) {
	preload := library
	var env []string
	for _, kv := range environ {
		if before, ok := strings.CutPrefix(kv, "LD_PRELOAD="); ok {
			if before != "" { // tools stay above us
				preload = before + ":" + library
			}
			continue
		}
		env = append(env, kv)
	}
	for _, kv := range set {
		if !strings.HasPrefix(kv, settings.Prefix) || !strings.Contains(kv, "=") {
			return nil, fmt.Errorf("--set %s: write %sNAME=VALUE", kv, settings.Prefix)
		}
		env = append(env, kv)
	}
	if _, err := settings.Parse(env); err != nil {
		return nil, err
	}
	return append(env, "LD_PRELOAD="+preload), nil
}

// findStarter is the path of mpiexec; MPICH's where there are several.
func findStarter(given string) (string, error) {
	names := []string{given}
	if given == "" {
		names = []string{"mpiexec.mpich", "mpiexec"}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no %s; apt-get install mpich", strings.Join(names, " or "))
}
