package apps

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cmpi/tests/job"
)

// h5pcc is HDF5's compiler wrapper, of Debian's libhdf5-mpich-dev.
const h5pcc = "/usr/bin/h5pcc.mpich"

// TestHDF5 writes and reads a file through parallel HDF5 (src/hdf5.c).
func TestHDF5(t *testing.T) {
	need(t, "libhdf5-mpich-dev", h5pcc)
	program := buildHDF5(t)
	var apps []app
	for _, a := range []struct {
		name string
		args []string
		slow bool
	}{
		{"small", nil, false},
		{"tiny pieces", []string{"rows=7", "columns=5"}, false},
		{"large", []string{"rows=1500", "columns=700"}, true},
	} {
		apps = append(apps, app{
			name:    a.name,
			ranks:   []int{2, 4},
			modes:   usual,
			slow:    a.slow,
			prepare: func(*testing.T, string) []string { return append([]string{program, "test.h5"}, a.args...) },
			result: func(_ string, r job.Result) (any, error) {
				if r.Stderr != "" || !strings.HasSuffix(r.Stdout, "OK hdf5\n") {
					return nil, errors.New("not OK")
				}
				return lines(r.Stdout), nil
			},
		})
	}
	test(t, apps)
}

// buildHDF5 compiles the program.
func buildHDF5(t *testing.T) string {
	t.Helper()
	source, err := filepath.Abs("src/hdf5.c")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(h5pcc, "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow", "-o", "hdf5", source)
	cmd.Dir = t.TempDir() // the wrapper leaves object files behind
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, text)
	}
	return filepath.Join(cmd.Dir, "hdf5")
}
