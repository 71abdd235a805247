package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// guest is one virtual machine.
type guest struct {
	name    string // a or b; also its host name
	address string // on the network between the guests
	peer    string // the other guest's name
	dir     string // of sockets; a short path
	console string // file of the serial console of its present life
	port    int    // of this machine's loopback, forwarded to the guest's ssh

	qemu   *exec.Cmd
	ended  chan struct{} // closed when QEMU is gone
	master *exec.Cmd     // an ssh connection that all commands share
}

// boot is what a guest needs to start.
type boot struct {
	kernel         kernel
	initrd         string
	device         device
	memory, labels string // files of the device
	console        string
}

// guestMemory is enough for two ranks with some 100 MB each, the overlay, and the
// kernel's structures for the device's pages.
const guestMemory = "1G"

// qemuArgs is the command line of QEMU.
//
// One processor per guest, for two reasons: two guests are as much as two cores
// carry, and QEMU then translates atomic instructions into plain ones, so that none
// works between the guests, as on memory that hosts share without coherence.
func (g *guest) qemuArgs(b boot) []string {
	return append([]string{
		"-name", "cmpi-" + g.name,
		"-machine", "q35," + b.device.machine, "-accel", "tcg", "-cpu", "max", "-smp", "1",
		"-m", guestMemory + ",slots=4,maxmem=8G",
		"-kernel", b.kernel.image(), "-initrd", b.initrd,
		"-append", fmt.Sprintf("console=ttyS0 panic=-1 mitigations=off vm_name=%s vm_address=%s", g.name, g.address),
		"-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap",
		"-netdev", fmt.Sprintf("user,id=net0,restrict=on,hostfwd=tcp:127.0.0.1:%d-:22", g.port),
		"-device", "virtio-net-pci,netdev=net0,addr=6",
		"-netdev", fmt.Sprintf("dgram,id=net1,local.type=unix,local.path=%s,remote.type=unix,remote.path=%s",
			g.socket(g.name), g.socket(g.peer)),
		"-device", "virtio-net-pci,addr=7,netdev=net1,mac=52:54:00:77:00:0" + g.address[len(g.address)-1:],
		"-device", "virtio-rng-pci",
		"-nodefaults", "-display", "none", "-no-reboot", "-serial", "file:" + b.console,
	}, b.device.attach(b.memory, b.labels)...)
}

func (g *guest) socket(name string) string { return filepath.Join(g.dir, "net-"+name) }

// start starts QEMU. It ends with this process at the latest.
func (g *guest) start(b boot) error {
	var err error
	if g.port, err = freePort(); err != nil {
		return err
	}
	_ = os.Remove(g.socket(g.name)) // of an earlier life
	g.console = b.console
	g.qemu = exec.Command(qemu, g.qemuArgs(b)...)
	g.qemu.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	var complaints bytes.Buffer
	g.qemu.Stderr = &complaints
	if err := g.qemu.Start(); err != nil {
		return err
	}
	g.ended = make(chan struct{})
	go func() {
		_ = g.qemu.Wait() // how it ended is in what it said
		if complaints.Len() > 0 {
			f, err := os.OpenFile(b.console, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err == nil {
				fmt.Fprintf(f, "\nQEMU: %s", complaints.String())
				f.Close()
			}
		}
		close(g.ended)
	}()
	return nil
}

// freePort asks the kernel for a TCP port. Another process could take it before
// QEMU does; QEMU then says so and the guest does not start.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// isUp is the last line of the script boot.
var isUp = regexp.MustCompile(`guest: \w is up after ([0-9.]+) s, kernel \S+, boot id (\S+)\s`)

// upLine is what a guest says when it is up.
type upLine struct {
	seconds string // since the start of its kernel
	bootID  string
}

// upLine reads it from the console; the error says that the guest isn't up.
func (g *guest) upLine() (upLine, error) {
	text, err := os.ReadFile(g.console)
	if err != nil {
		return upLine{}, err
	}
	m := isUp.FindSubmatch(text)
	if m == nil {
		return upLine{}, fmt.Errorf("guest %s is not up: %s", g.name, lastLine(text))
	}
	return upLine{string(m[1]), string(m[2])}, nil
}

// await waits until the guest is up, and makes the ssh connection.
func (g *guest) await(ctx context.Context, key string) error {
	for {
		_, err := g.upLine()
		if err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; its console is %s", err, g.console)
		case <-g.ended:
			return fmt.Errorf("%w, it died; its console is %s", err, g.console)
		case <-time.After(200 * time.Millisecond):
		}
	}
	g.master = exec.Command("ssh", append(g.sshArgs(key), "-M", "-N", "root@127.0.0.1")...)
	g.master.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := g.master.Start(); err != nil {
		return err
	}
	go func(c *exec.Cmd) { _ = c.Wait() }(g.master) // it ends when the guest does
	for {
		if _, err := os.Stat(g.controlSocket()); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no ssh connection to guest %s: %w", g.name, ctx.Err())
		case <-g.ended:
			return fmt.Errorf("guest %s died", g.name)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (g *guest) controlSocket() string {
	return filepath.Join(g.dir, fmt.Sprintf("ssh-%s-%d", g.name, g.port))
}

func (g *guest) sshArgs(key string) []string {
	return []string{
		"-F", "none", "-q", "-i", key, "-p", fmt.Sprint(g.port), "-S", g.controlSocket(),
		"-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
	}
}

// kill is a power cut.
func (g *guest) kill() {
	if g.qemu == nil || g.qemu.Process == nil {
		return
	}
	_ = g.qemu.Process.Kill() // gone already is as good
	<-g.ended
	if g.master != nil {
		_ = g.master.Process.Kill()
	}
	_ = os.Remove(g.controlSocket())
	g.qemu, g.master = nil, nil
}

// result is how a command in a guest ended.
type result struct {
	stdout, stderr string
	code           int
	err            error // what kept it from ending by itself with an exit code
	elapsed        time.Duration
}

// ok makes an error of anything but success.
func (r result) ok() error {
	if r.err != nil {
		return fmt.Errorf("%w%s", r.err, r.tail())
	}
	if r.code != 0 {
		return fmt.Errorf("exit code %d%s", r.code, r.tail())
	}
	return nil
}

// tail is the last line that was printed, for an error message.
func (r result) tail() string {
	if s := lastLine([]byte(r.stdout + r.stderr)); s != "" {
		return ": " + s
	}
	return ""
}

// run runs a shell command in the guest. When limit has passed it is given up on
// this side; what it has started in the guest may go on.
func (g *guest) run(ctx context.Context, key, script string, limit time.Duration) result {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "ssh", append(g.sshArgs(key), "root@127.0.0.1", script)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.WaitDelay = time.Second
	start := time.Now()
	err := cmd.Run()
	r := result{stdout: out.String(), stderr: errs.String(), err: err, elapsed: time.Since(start)}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() >= 0 {
		r.code, r.err = exit.ExitCode(), nil
	}
	if ctx.Err() != nil {
		r.err = fmt.Errorf("not finished within %v", limit)
	}
	return r
}

// quote makes one word of a shell command.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
