package lab

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cmpi/tests/process"
)

// slurmTools is what Slurm in a lab needs beside tools.
var slurmTools = []string{"munged", "slurmctld", "slurmd", "srun", "salloc", "sinfo"}

// Files of Slurm in the lab's folder, which all hosts see.
const (
	slurmDir    = "slurm"
	slurmConfig = slurmDir + "/slurm.conf"
	mungeSocket = slurmDir + "/munge.socket"
)

// slurmLimit is how long Slurm may take until it has all hosts; a second is usual.
const slurmLimit = 30 * time.Second

// taskProlog gives tasks the pool under the name that it has in their host. Slurm
// adds to their environment what it prints.
const taskProlog = `#!/bin/sh
read -r _ _ pool <"$(dirname "$0")/../$SLURMD_NODENAME.at" && echo "export CMPI_POOL=$pool"
`

// StartSlurm makes the running hosts nodes of a Slurm cluster: its controller runs in the head,
// a slurmd in each host, without systemd and without control groups. Login is the
// command that reaches it. All of it ends with the lab. A host that is started
// anew has no slurmd. The error is ErrUnsupported if Slurm isn't installed.
func (l *Lab) StartSlurm(ctx context.Context) error {
	for _, tool := range slurmTools {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w: %w (build/setup --slurm installs it)", ErrUnsupported, err)
		}
	}
	if l.HasSlurm() {
		return fmt.Errorf("lab %s has Slurm already", l.Name)
	}
	if err := l.writeSlurm(); err != nil {
		return fmt.Errorf("starting Slurm: %w", err)
	}
	err := l.startSlurm(ctx)
	if err == nil {
		err = l.awaitSlurm(ctx)
	}
	if err != nil {
		// The next call, or Down, finds no half of it.
		return errors.Join(fmt.Errorf("starting Slurm: %w; %s", err, l.slurmComplaints()), os.Remove(l.path(slurmConfig)))
	}
	return nil
}

// HasSlurm says whether StartSlurm has been called.
func (l *Lab) HasSlurm() bool {
	_, err := os.Stat(l.path(slurmConfig))
	return err == nil
}

// Login is the path of a program that runs the command in its arguments as on the
// cluster's login node, where srun, salloc and sbatch work.
func (l *Lab) Login() string { return l.path("login") }

// writeSlurm writes the key and the configuration. slurmd finds the second file
// beside the first.
func (l *Lab) writeSlurm() error {
	if err := os.MkdirAll(l.path(slurmDir+"/state"), 0o755); err != nil {
		return err
	}
	key := make([]byte, 128)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	for _, f := range []struct {
		name, text string
		mode       os.FileMode
	}{
		{slurmDir + "/munge.key", string(key), 0o600},
		{slurmDir + "/task-prolog", taskProlog, 0o755},
		// slurmd wants one of its plugins for control groups, though nothing here
		// uses them. This one starts where they are not mounted.
		{slurmDir + "/cgroup.conf", "CgroupPlugin=cgroup/v1\n", 0o644},
		{slurmConfig, l.slurmConfig(), 0o644},
	} {
		if err := os.WriteFile(l.path(f.name), []byte(f.text), f.mode); err != nil {
			return err
		}
	}
	return nil
}

// slurmTasks is how many tasks a host takes at one time, whatever processors it
// has: tests start more.
const slurmTasks = 16

// slurmConfig is the text of slurm.conf.
func (l *Lab) slurmConfig() string {
	dir := l.path(slurmDir)
	var b strings.Builder
	fmt.Fprintf(&b, `ClusterName=lab
SlurmctldHost=%s(%s)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%s
CredType=cred/munge
StateSaveLocation=%s/state
SlurmctldPidFile=%[4]s/slurmctld.pid
SlurmctldLogFile=%[4]s/slurmctld.log
SlurmdSpoolDir=%s
SlurmdPidFile=%[5]s/slurmd.pid
SlurmdLogFile=%[4]s/slurmd-%%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog=%[4]s/task-prolog
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
`, headName, address(network, headNumber), l.path(mungeSocket), dir, slurmdDir)
	for _, h := range l.Hosts {
		fmt.Fprintf(&b, "NodeName=%s NodeAddr=%s CPUs=%d\n", h.Name, h.Address, slurmTasks)
	}
	// Jobs share the hosts: none waits until another has ended.
	b.WriteString("PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=FORCE:4 State=UP\n")
	return b.String()
}

// slurmdDir is a folder of each host.
const slurmdDir = "/tmp/slurmd"

// startSlurm starts the daemons. Those of the head carry the lab's mark, by which
// Down finds them; those of the hosts end with their host.
func (l *Lab) startSlurm(ctx context.Context) error {
	in := func(name string) string { return l.path(filepath.Join(slurmDir, name)) }
	log, err := os.OpenFile(in("head.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	for _, argv := range [][]string{
		{"munged", "--foreground", "--key-file=" + in("munge.key"), "--socket=" + l.path(mungeSocket),
			"--pid-file=" + in("munge.pid"), "--seed-file=" + in("munge.seed"), "--log-file=" + in("munge.log")},
		{"nsenter", "-t", strconv.Itoa(l.Head.PID), "-n", "-u", "--", "slurmctld", "-D", "-f", l.path(slurmConfig)},
	} {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
		p, err := l.start(cmd, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", argv[0], err)
		}
		if argv[0] == "munged" {
			if err := l.awaitMunge(ctx, p); err != nil {
				return err
			}
		}
	}
	for i := range l.Hosts {
		h := &l.Hosts[i]
		if !h.Up() {
			continue
		}
		out, err := l.Command(ctx, h.Name, fmt.Sprintf("mkdir -p %s && slurmd -f %s -N %s", slurmdDir, l.path(slurmConfig), h.Name)).CombinedOutput()
		if err != nil {
			return fmt.Errorf("slurmd in %s: %w: %s", h.Name, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// awaitMunge waits for the socket: slurmctld ends when it isn't there.
func (l *Lab) awaitMunge(ctx context.Context, munged process.Process) error {
	return poll(ctx, func() (bool, error) {
		if _, err := os.Stat(l.path(mungeSocket)); err == nil {
			return true, nil
		}
		if !munged.Alive() {
			return false, errors.New("munged ended at once")
		}
		return false, nil
	})
}

// awaitSlurm waits until all hosts that run can be given tasks.
func (l *Lab) awaitSlurm(ctx context.Context) error {
	want := 0
	for _, h := range l.Hosts {
		if h.Up() {
			want++
		}
	}
	return poll(ctx, func() (bool, error) {
		// An error: the controller doesn't answer yet.
		out, _ := exec.CommandContext(ctx, l.Login(), "sinfo", "--noheader", "--Node", "--format=%T").Output()
		return strings.Count(string(out), "idle\n") == want, nil
	})
}

// poll asks until the answer is yes, for at most slurmLimit.
func poll(ctx context.Context, ready func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, slurmLimit)
	defer cancel()
	for {
		ok, err := ready()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// slurmComplaints is what its daemons last called an error.
func (l *Lab) slurmComplaints() string {
	var found []string
	logs, _ := filepath.Glob(l.path(slurmDir + "/*.log")) // a well-formed pattern
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		last := ""
		for line := range strings.Lines(string(text)) {
			if low := strings.ToLower(line); strings.Contains(low, "error") || strings.Contains(low, "fatal") {
				last = filepath.Base(path) + ": " + strings.TrimSpace(line)
			}
		}
		if last != "" {
			found = append(found, last)
		}
	}
	return strings.Join(found, "; ")
}
