// Package module finds the files of the project, for the programs beside it.
package module

import (
	"errors"
	"os"
	"path/filepath"
)

// Root is the folder with go.mod, from the working folder upwards.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("not inside the project: no go.mod here or above")
		}
		dir = parent
	}
}
