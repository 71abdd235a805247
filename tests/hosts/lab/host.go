package lab

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cmpi/tests/process"
)

// headName is the head's host name, which hosts know.
const headName = "head"

// startHead makes the network namespace in which mpiexec runs, and a host name
// for those that tell it to hosts.
func (l *Lab) startHead(ctx context.Context) error {
	cmd := exec.Command("sleep", "infinity")
	p, err := l.start(cmd, syscall.CLONE_NEWNET|syscall.CLONE_NEWUTS)
	if err != nil {
		return fmt.Errorf("the head: %w", err)
	}
	l.Head = p
	if err := run(ctx, "", "nsenter", "-t", strconv.Itoa(p.PID), "-u", "--", "hostname", headName); err != nil {
		return err
	}
	if err := os.WriteFile(l.path("head.at"), fmt.Appendf(nil, "%d\n", p.PID), 0o644); err != nil {
		return err
	}
	if err := l.startBridge(ctx); err != nil {
		return err
	}
	return l.write()
}

// start starts a process of the lab that outlives this one, in new namespaces.
// Its output must go to files or pipes of its own.
func (l *Lab) start(cmd *exec.Cmd, spaces uintptr) (process.Process, error) {
	cmd.Env = append(os.Environ(), mark+"="+l.Name)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: spaces, Setsid: true}
	if err := cmd.Start(); err != nil {
		return process.Process{}, err
	}
	p, err := process.Of(cmd.Process.Pid)
	go func() { _ = cmd.Wait() }() // so that no zombie stays; how it ended is nobody's concern
	return p, err
}

// readyLimit is how long a host may take to start; 50 ms are usual.
const readyLimit = 20 * time.Second

// startHost makes a host, with a boot id that no kernel had before.
func (l *Lab) startHost(ctx context.Context, h *Host) error {
	if err := l.tryStartHost(ctx, h); err != nil {
		return fmt.Errorf("host %s: %w", h.Name, err)
	}
	return l.write()
}

func (l *Lab) tryStartHost(ctx context.Context, h *Host) error {
	boot, err := bootID()
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.path(h.Name+".boot"), []byte(boot+"\n"), 0o444); err != nil {
		return err
	}
	log, err := os.Create(l.path(h.Name + ".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	dir := filepath.Join(Dir, l.Name)
	cmd := exec.Command("/bin/sh", append([]string{l.path("host.sh"), h.Name, dir, l.Pool, h.Pool}, l.Keep...)...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = in, log, "/"
	h.Init, err = l.start(cmd, syscall.CLONE_NEWNET|syscall.CLONE_NEWUTS|syscall.CLONE_NEWIPC|syscall.CLONE_NEWPID|syscall.CLONE_NEWNS)
	in.Close()
	if err != nil {
		return err
	}
	if err := out.SetReadDeadline(time.Now().Add(readyLimit)); err != nil {
		return err
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if said != "ready\n" {
		text, _ := os.ReadFile(log.Name()) // if it can't be read, there is less to show
		if errors.Is(err, io.EOF) {
			err = errors.New("it ended at once")
		}
		return fmt.Errorf("it did not start: %w: %s", err, strings.TrimSpace(string(text)))
	}
	if err := l.connect(ctx, h); err != nil {
		return err
	}
	at := fmt.Sprintf("%d %s %s\n", h.Init.PID, h.cpuList(), h.Pool)
	return os.WriteFile(l.path(h.Name+".at"), []byte(at), 0o644)
}

// cpuList is what taskset takes.
func (h *Host) cpuList() string {
	s := make([]string, len(h.CPUs))
	for i, c := range h.CPUs {
		s[i] = strconv.Itoa(c)
	}
	return strings.Join(s, ",")
}

// number is k of host hk.
func (h *Host) number() int {
	k, _ := strconv.Atoi(h.Name[1:]) // made by us
	return k
}

func bootID() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	s := hex.EncodeToString(b[:])
	return strings.Join([]string{s[:8], s[8:12], s[12:16], s[16:20], s[20:]}, "-"), nil
}

// Kill switches a host off as a power cut does: all of its processes end at
// once. Peers notice by their connections, since the kernel that plays all hosts
// closes them; Cut comes first where they are not to.
func (l *Lab) Kill(name string) error {
	h, err := l.Host(name)
	if err != nil {
		return err
	}
	if !h.Init.Alive() {
		return fmt.Errorf("host %s is down already", name)
	}
	h.Init.Kill()
	for deadline := time.Now().Add(endLimit); h.Init.Alive(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: host %s", process.ErrStillThere, name)
		}
	}
	return os.Remove(l.path(name + ".at"))
}

// Restart starts a host that is down.
func (l *Lab) Restart(ctx context.Context, name string) error {
	h, err := l.Host(name)
	if err != nil {
		return err
	}
	if h.Init.Alive() {
		return fmt.Errorf("host %s is up", name)
	}
	// The kernel may not have come to it yet; that there is none is what is wanted.
	_ = inSpace(ctx, l.Head, "link del "+h.port())
	return l.startHost(ctx, h)
}

// Command is a command in a host, in its root folder, with a small environment
// of its own and CMPI_POOL naming the pool. As with ssh, a shell there reads it.
func (l *Lab) Command(ctx context.Context, host string, argv ...string) *exec.Cmd {
	return exec.CommandContext(ctx, l.path("launch"), append([]string{host}, argv...)...)
}

// Processes are the running processes of a host beside its process 1: their names by
// their numbers outside of it.
func (l *Lab) Processes(host string) (map[int]string, error) {
	h, err := l.Host(host)
	if err != nil {
		return nil, err
	}
	space := func(pid string) string {
		s, _ := os.Readlink(filepath.Join("/proc", pid, "ns/pid")) // "": it has ended
		return s
	}
	all := map[int]string{}
	first := strconv.Itoa(h.Init.PID)
	if !h.Init.Alive() {
		return all, nil
	}
	inside := space(first)
	dirs, _ := filepath.Glob("/proc/[0-9]*") // a well-formed pattern
	for _, dir := range dirs {
		pid := filepath.Base(dir)
		if pid == first || inside == "" || space(pid) != inside {
			continue
		}
		name, err := os.ReadFile(filepath.Join(dir, "comm"))
		if err != nil {
			continue
		}
		n, err := strconv.Atoi(pid)
		if err != nil {
			return nil, err
		}
		if _, err := process.Of(n); err == nil { // no zombie
			all[n] = strings.TrimSpace(string(name))
		}
	}
	return all, nil
}
