package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// kernel is an unpacked linux-image package.
type kernel struct {
	dir     string // its root
	version string // as uname -r says
}

// rootModules are what a guest needs to reach its root file system and the network.
// What the memory device needs is loaded later, from the root file system.
var rootModules = []string{"virtio_pci", "virtio_net", "virtio_rng", "9p", "9pnet_virtio", "overlay"}

// findKernel takes the kernel that build/setup --vm has unpacked into dir.
func findKernel(dir string) (kernel, error) {
	found, err := filepath.Glob(filepath.Join(dir, "lib/modules/*"))
	if err != nil || len(found) == 0 {
		return kernel{}, fmt.Errorf("no kernel in %s", dir)
	}
	k := kernel{dir: dir, version: filepath.Base(found[len(found)-1])}
	if _, err := os.Stat(k.image()); err != nil {
		return kernel{}, err
	}
	return k, nil
}

func (k kernel) image() string   { return filepath.Join(k.dir, "boot/vmlinuz-"+k.version) }
func (k kernel) modules() string { return filepath.Join(k.dir, "lib/modules", k.version) }

// loadOrder lists the module files that have to be loaded for the named modules, in
// an order in which each comes after what it depends on. depends is the text of
// modules.dep: a line "file: files it depends on, the first needed last" for each
// module. A module that has no line is taken for built in.
func loadOrder(depends string, names []string) []string {
	needs := map[string][]string{} // by module name: files in order, itself last
	for line := range strings.Lines(depends) {
		file, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		chain := strings.Fields(rest)
		slices.Reverse(chain)
		needs[moduleName(file)] = append(chain, file)
	}
	var order []string
	for _, name := range names {
		for _, file := range needs[moduleName(name)] {
			if !slices.Contains(order, file) {
				order = append(order, file)
			}
		}
	}
	return order
}

// moduleName is the name of a module by its file; the kernel doesn't distinguish
// between - and _.
func moduleName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	return strings.ReplaceAll(name, "-", "_")
}

// buildInitrd makes the initial RAM disk at path: busybox, the modules for the
// root file system, and the folder guest with all that is specific to this run.
// work is an empty folder.
func (k kernel) buildInitrd(path, work, guest string) error {
	depends, err := os.ReadFile(filepath.Join(k.modules(), "modules.dep"))
	if err != nil {
		return err
	}
	for _, d := range []string{"bin", "modules", "proc", "sys", "dev", "lower", "upper", "root", "run"} {
		if err := os.MkdirAll(filepath.Join(work, d), 0o755); err != nil {
			return err
		}
	}
	var order strings.Builder
	for _, file := range loadOrder(string(depends), rootModules) {
		if err := copyFile(filepath.Join(work, "modules", filepath.Base(file)), filepath.Join(k.modules(), file), 0o644); err != nil {
			return err
		}
		fmt.Fprintln(&order, filepath.Base(file))
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return err
	}
	if err := errors.Join(
		os.WriteFile(filepath.Join(work, "modules/order"), []byte(order.String()), 0o644),
		os.WriteFile(filepath.Join(work, "init"), initScript, 0o755),
		copyFile(filepath.Join(work, "bin/busybox"), busybox, 0o755),
		os.CopyFS(filepath.Join(work, "guest"), os.DirFS(guest)),
	); err != nil {
		return err
	}
	for _, applet := range []string{"sh", "mount", "insmod", "cat", "cp", "mkdir", "switch_root"} {
		if err := os.Symlink("busybox", filepath.Join(work, "bin", applet)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	pack := exec.Command("sh", "-c", "busybox find . | busybox cpio -o -H newc")
	pack.Dir, pack.Stdout = work, out
	var errs strings.Builder
	pack.Stderr = &errs
	if err := pack.Run(); err != nil {
		return fmt.Errorf("packing the initial RAM disk: %w: %s", err, strings.TrimSpace(errs.String()))
	}
	return out.Close()
}

func copyFile(to, from string, mode fs.FileMode) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, mode)
}
