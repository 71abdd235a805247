package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"cmpi/tests/module"
)

// qemu is the emulator.
const qemu = "qemu-system-x86_64"

// tools are what this machine and, through its root file system, the guests use.
var tools = []string{qemu, "busybox", "modprobe", "ndctl", "cxl", "dropbear", "dropbearkey", "ssh", "mpiexec.mpich", "mpicc.mpich", "mpif90.mpich"}

// errUnavailable wraps whatever keeps this machine from emulating the two at all.
var errUnavailable = errors.New("two machines can't be emulated here")

// machine is what this one offers.
type machine struct {
	root   string // of the project
	out    string // build/out/vm
	kernel kernel
}

// prepare checks that everything is there, has build/setup install what is missing,
// and builds what runs in the guests.
func prepare(ctx context.Context, output io.Writer) (machine, error) {
	m := machine{}
	var err error
	if m.root, err = module.Root(); err != nil {
		return m, err
	}
	m.out = filepath.Join(m.root, "build/out/vm")
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return m, fmt.Errorf("%w: this is %s on %s, not Linux on amd64", errUnavailable, runtime.GOOS, runtime.GOARCH)
	}
	if os.Geteuid() != 0 {
		return m, fmt.Errorf("%w: only root may read all that the guests need of this machine's files; try sudo", errUnavailable)
	}
	if err := m.complete(); err != nil {
		setup := exec.CommandContext(ctx, filepath.Join(m.root, "build/setup"), "--vm")
		setup.Stdout, setup.Stderr = output, output
		if e := setup.Run(); e != nil {
			return m, fmt.Errorf("%w: %w, and build/setup --vm could not install it: %w", errUnavailable, err, e)
		}
		if err := m.complete(); err != nil {
			return m, fmt.Errorf("%w: %w", errUnavailable, err)
		}
	}
	return m, m.build(ctx)
}

// complete looks for everything that comes from Debian.
func (m *machine) complete() error {
	// A shell that su opens may have no sbin in its path.
	if err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin"); err != nil {
		return err
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			return err
		}
	}
	var err error
	m.kernel, err = findKernel(filepath.Join(m.out, "kernel"))
	return err
}

// build makes the library, the programs and the C examples.
func (m *machine) build(ctx context.Context) error {
	if err := os.MkdirAll(m.bin(), 0o755); err != nil {
		return err
	}
	out := filepath.Join(m.root, "build/out")
	steps := [][]string{
		{"make", "-s", "lib"},
		{"tests/programs/build.sh"},
		{"go", "build", "-o", filepath.Join(m.bin(), "pool"), "./tests/vm/pool"},
	}
	for _, c := range []string{"c/examples/cxl_shm_example.c", "c/examples/cmpi_ring.c", "c/examples/cmpi_window.c", "tests/vm/src/atomics.c"} {
		name := filepath.Base(c[:len(c)-len(".c")])
		steps = append(steps, []string{"gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Ic/include",
			"-o", filepath.Join(m.bin(), name), c, "-L" + out, "-lcmpi", "-Wl,-rpath," + out})
	}
	steps = append(steps, []string{"gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
		"-o", filepath.Join(m.bin(), "finalize.so"), "tests/vm/src/finalize.c"})
	for _, argv := range steps {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir = m.root
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", argv[0], err, text)
		}
	}
	return nil
}

func (m *machine) bin() string { return filepath.Join(m.root, binDir) }
