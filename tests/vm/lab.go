package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// lab is two guests with one device.
type lab struct {
	m      machine
	device device
	report *report
	dir    string // of short-lived files: sockets, the device's memory
	out    string // of the logs
	key    string // the private ssh key
	initrd string
	a, b   *guest
	starts int // of guests so far; each has a console log of its own
}

// guests are both.
func (l *lab) guests() [2]*guest { return [2]*guest{l.a, l.b} }

// newLab makes all files. The pool lies in memory, in /dev/shm.
func newLab(m machine, d device, r *report) (*lab, error) {
	dir, err := os.MkdirTemp("/dev/shm", "cmpi-vm-")
	if err != nil {
		return nil, err
	}
	l := &lab{m: m, device: d, report: r, dir: dir, out: filepath.Join(m.out, d.name), initrd: filepath.Join(dir, "initrd")}
	l.a = &guest{name: "a", peer: "b", address: "10.77.0.1", dir: dir}
	l.b = &guest{name: "b", peer: "a", address: "10.77.0.2", dir: dir}
	if err := errors.Join(os.RemoveAll(l.out), os.MkdirAll(l.out, 0o755), l.makeFiles()); err != nil {
		l.remove()
		return nil, err
	}
	return l, nil
}

// makeFiles makes the shared memory, a key, and the initial RAM disk.
func (l *lab) makeFiles() error {
	files := filepath.Join(l.dir, "guest")
	l.key = filepath.Join(files, "key")
	if err := os.Mkdir(files, 0o700); err != nil {
		return err
	}
	for file, size := range map[string]int64{l.memory(): poolMiB << 20, l.labels(): 1 << 20} {
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, size)); err != nil {
			return err
		}
	}
	for _, argv := range [][]string{
		{"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "cmpi-vm", "-f", l.key},
		{"dropbearkey", "-t", "ed25519", "-f", filepath.Join(files, "hostkey")},
	} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", argv[0], err, lastLine(out))
		}
	}
	if err := errors.Join(
		os.WriteFile(filepath.Join(files, "boot"), bootScript, 0o755),
		os.WriteFile(filepath.Join(files, "ssh_config"), sshConfig, 0o600),
	); err != nil {
		return err
	}
	work := filepath.Join(l.dir, "initrd.d")
	defer os.RemoveAll(work)
	return l.m.kernel.buildInitrd(l.initrd, work, files)
}

func (l *lab) memory() string { return filepath.Join(l.dir, "memory") }
func (l *lab) labels() string { return filepath.Join(l.dir, "labels") }

// remove ends the guests and leaves nothing but the logs.
func (l *lab) remove() {
	l.a.kill()
	l.b.kill()
	_ = os.RemoveAll(l.dir) // in /dev/shm; what can't be removed now can't be later
}

// startGuests starts some guests and waits until they are up and can be commanded.
func (l *lab) startGuests(ctx context.Context, guests ...*guest) error {
	l.starts++
	for _, g := range guests {
		console := filepath.Join(l.out, fmt.Sprintf("console-%s-%d.log", g.name, l.starts))
		err := g.start(boot{kernel: l.m.kernel, initrd: l.initrd, device: l.device, memory: l.memory(), labels: l.labels(), console: console})
		if err != nil {
			return err
		}
	}
	for _, g := range guests {
		if err := g.await(ctx, l.key); err != nil {
			return err
		}
	}
	return nil
}

// inRoot is the command in the root of the project.
func (l *lab) inRoot(script string) string { return "cd " + quote(l.m.root) + " && " + script }

// run runs a shell command in a guest, in the root of the project, and logs it.
func (l *lab) run(ctx context.Context, g *guest, script string, limit time.Duration) result {
	r := g.run(ctx, l.key, l.inRoot(script), limit)
	l.report.logCommand(g.name, script, r)
	return r
}

// output is run for a command that must succeed, of which the output matters.
func (l *lab) output(ctx context.Context, g *guest, script string, limit time.Duration) (string, error) {
	r := l.run(ctx, g, script, limit)
	if err := r.ok(); err != nil {
		return "", fmt.Errorf("guest %s: %w", g.name, err)
	}
	return r.stdout, nil
}

// together runs a command in each guest at the same time; both must succeed.
func (l *lab) together(ctx context.Context, scriptA, scriptB string, limit time.Duration) (outA, outB string, err error) {
	var wg sync.WaitGroup
	var a, b result
	wg.Go(func() { a = l.a.run(ctx, l.key, l.inRoot(scriptA), limit) })
	wg.Go(func() { b = l.b.run(ctx, l.key, l.inRoot(scriptB), limit) })
	wg.Wait()
	l.report.logCommand("a", scriptA, a)
	l.report.logCommand("b", scriptB, b)
	if err := a.ok(); err != nil {
		return "", "", fmt.Errorf("guest a: %w", err)
	}
	if err := b.ok(); err != nil {
		return "", "", fmt.Errorf("guest b: %w", err)
	}
	return a.stdout, b.stdout, nil
}
