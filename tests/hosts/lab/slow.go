package lab

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cmpi/tests/process"
)

// Slow describes a slow network between the hosts, beside the first one.
type Slow struct {
	Delay    time.Duration   `json:"delay_ns"`    // of each frame, one way
	Rate     int64           `json:"rate_bits_s"` // of each port, bits per second
	Realtime bool            `json:"realtime"`    // the switch gets the processor whenever it has something to do
	Switch   process.Process `json:"switch"`      // a process in user space
}

// Ethernet is what measures like the gigabit Ethernet of the cMPI paper between
// MPI programs: 33 µs and 117 MB/s. The rest of the 33 µs is this kernel's and
// the MPI library's.
var Ethernet = Slow{Delay: 15 * time.Microsecond, Rate: 1e9}

// SlowDevice is the network device of the slow network in each host.
const SlowDevice = "eth1"

// switchPriority is the switch's real-time priority, if it has one.
const switchPriority = 10

//go:embed files/tapswitch.c
var switchSource string

// StartSlow adds a slow network to the running hosts. Programs that Mpiexec
// starts use it until StopSlow.
func (l *Lab) StartSlow(ctx context.Context, s Slow) error {
	if l.Slow != nil {
		return errors.New("there is a slow network already")
	}
	if s.Delay < 0 || s.Rate <= 0 {
		return fmt.Errorf("a network of %v and %d bits per second is none", s.Delay, s.Rate)
	}
	if err := os.WriteFile(l.path("tapswitch.c"), []byte(switchSource), 0o644); err != nil {
		return err
	}
	if err := run(ctx, "", "gcc", "-O2", "-o", l.path("tapswitch"), l.path("tapswitch.c")); err != nil {
		return err
	}
	args := []string{SlowDevice, strconv.FormatInt(s.Delay.Nanoseconds(), 10), strconv.FormatInt(s.Rate, 10)}
	var hosts []*Host
	for i := range l.Hosts {
		if h := &l.Hosts[i]; h.Init.Alive() {
			hosts = append(hosts, h)
			args = append(args, strconv.Itoa(h.Init.PID))
		}
	}
	if err := l.startSwitch(exec.Command(l.path("tapswitch"), args...), &s); err != nil {
		return err
	}
	for _, h := range hosts {
		if err := inSpace(ctx, h.Init,
			fmt.Sprintf("addr add %s/24 dev %s", address(slowNetwork, h.number()), SlowDevice),
			"link set "+SlowDevice+" txqueuelen 1000 up"); err != nil {
			s.Switch.Kill()
			return err
		}
	}
	if err := os.WriteFile(l.path("net"), []byte(SlowDevice+"\n"), 0o644); err != nil {
		return err
	}
	l.Slow = &s
	return l.write()
}

// startSwitch starts the switch and waits until it has its devices.
func (l *Lab) startSwitch(cmd *exec.Cmd, s *Slow) error {
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = in, in
	s.Switch, err = l.start(cmd, 0)
	in.Close()
	if err != nil {
		return err
	}
	if err := out.SetReadDeadline(time.Now().Add(readyLimit)); err != nil {
		return err
	}
	if said, err := bufio.NewReader(out).ReadString('\n'); said != "ready\n" {
		s.Switch.Kill()
		if err == io.EOF {
			err = errors.New("it ended at once")
		}
		return fmt.Errorf("the slow network's switch did not start: %w: %s", err, strings.TrimSpace(said))
	}
	if s.Realtime {
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: switchPriority}
		if err := unix.SchedSetAttr(s.Switch.PID, &attr, 0); err != nil {
			s.Switch.Kill()
			return fmt.Errorf("real-time priority for the switch: %w", err)
		}
		return nil
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, s.Switch.PID, -20); err != nil {
		s.Switch.Kill()
		return fmt.Errorf("priority for the switch: %w", err)
	}
	return nil
}

// StopSlow removes the slow network.
func (l *Lab) StopSlow() error {
	if l.Slow == nil {
		return errors.New("there is no slow network")
	}
	l.Slow.Switch.Kill()
	l.Slow = nil
	if err := os.Remove(l.path("net")); err != nil {
		return err
	}
	return l.write()
}
