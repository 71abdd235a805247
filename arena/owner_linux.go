package arena

import (
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Owner names the process to which an object belongs.
type Owner struct {
	Host  [16]byte // its coherence domain
	PID   uint32   // in its pid namespace
	PIDNS uint32   // inode number of that namespace; 0: unknown
	Start uint64   // when it started, clock ticks since boot: tells a recycled pid
	UID   uint32
}

// Self is this process as an owner.
func Self(host [16]byte) Owner {
	pid := os.Getpid()
	start, _ := startTime(pid)
	return Owner{Host: host, PID: uint32(pid), PIDNS: pidNamespace(), Start: start, UID: uint32(os.Getuid())}
}

// startTime is field 22 of /proc/PID/stat; false when there is no such process
// or it is a zombie, which will never touch the pool again.
func startTime(pid int) (uint64, bool) {
	b, err := readProc("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	// The second field is the program's name in parentheses and may hold anything.
	_, rest, ok := cutLast(string(b), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return 0, false
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return 0, false
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	return start, err == nil
}

// procLen is more than the files that readProc reads ever have.
const procLen = 4096

// readProc reads a short file of the kernel's. Package os would ask the kernel
// to report when it can be read, for which Go's runtime starts its poller: some
// 50 µs of each rank's start.
func readProc(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b := make([]byte, procLen)
	for n := 0; ; {
		k, err := unix.Read(fd, b[n:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		case k == 0:
			return b[:n], nil
		default:
			n += k
		}
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// pidNamespace is the inode number of our pid namespace, 0 when unknown.
func pidNamespace() uint32 {
	var st unix.Stat_t
	if unix.Stat("/proc/self/ns/pid", &st) != nil {
		return 0
	}
	return uint32(st.Ino)
}

// Life says what is known of the process that owns an object.
type Life uint8

// What can be known of an owner. Unknown is one of another host: it may be alive.
// (Watch tells more of whole hosts.)
const (
	Unknown Life = iota
	Alive
	Dead
)

// String is one word.
func (l Life) String() string {
	return [...]string{Unknown: "unknown", Alive: "alive", Dead: "dead"}[l]
}

// life says what we know of the owner of s.
func (a *Arena) life(s *slot) Life {
	if s.host != hostTag(a.cfg.HostID) {
		return Unknown
	}
	if s.pidns != 0 && s.pidns != pidNamespace() {
		return a.elsewhere(s)
	}
	if start, ok := startTime(int(s.pid)); ok {
		if start == s.start {
			return Alive
		}
		return Dead // its pid has been given to another process since
	}
	if hidden(int(s.pid)) {
		return Unknown
	}
	return Dead
}

// hidden says whether a process runs that /proc doesn't show us: /proc may be
// missing, or mounted so that it shows a user his own processes only.
func hidden(pid int) bool {
	if pid <= 0 || pid > maxPID {
		return false // kill would take it for a process group
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err == nil {
		return false // a zombie: it is shown, and startTime saw it
	}
	return unix.Kill(pid, 0) != unix.ESRCH
}

// maxPID is beyond what any kernel gives out (2^22).
const maxPID = 1 << 30

// dead says whether the owner of s is surely gone: it is of our host, its pid
// means something to us, and no process of that pid and start time lives.
func (a *Arena) dead(s *slot) bool { return a.life(s) == Dead }

// ticksPerSecond is the unit of start times in /proc, which is fixed (USER_HZ).
const ticksPerSecond = 100

// Started is when an owner of this running kernel started; of other hosts it
// means nothing. False: the kernel's clock could not be read.
func (o Owner) Started() (time.Time, bool) {
	var up unix.Timespec
	if o.Start == 0 || o.Start > math.MaxInt64/uint64(time.Second) || unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) != nil {
		return time.Time{}, false
	}
	age := time.Duration(up.Nano()) - time.Duration(o.Start)*(time.Second/ticksPerSecond)
	return time.Now().Add(-age), age >= 0
}
