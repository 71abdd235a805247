package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// libraryName is the file that is preloaded.
const libraryName = "libcmpi.so"

// libraryFlag adds --lib to a command.
func libraryFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "lib", "", "the library (default: "+libraryName+" beside this command, or in ../lib)")
}

// findLibrary is the absolute path of the library: the one given, or the one
// that was built or installed together with this command.
func findLibrary(given string) (string, error) {
	candidates := []string{given}
	if given == "" {
		self, err := os.Executable()
		if err == nil {
			self, err = filepath.EvalSymlinks(self)
		}
		if err != nil {
			return "", fmt.Errorf("where is %s? %w; give it with --lib", libraryName, err)
		}
		dir := filepath.Dir(self)
		candidates = []string{filepath.Join(dir, libraryName), filepath.Join(dir, "..", "lib", libraryName)}
	}
	for _, c := range candidates {
		if st, err := os.Stat(c); err == nil && st.Mode().IsRegular() {
			return filepath.Abs(c)
		}
	}
	return "", fmt.Errorf("no library at %v; build it with make lib, or give its path with --lib", candidates)
}
