package arena

import (
	"os"
	"strconv"
	"strings"

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
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
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

// dead says whether the owner of s is surely gone: it is of our host, its pid
// means something to us, and no process of that pid and start time lives. An
// owner of another pid namespace may be alive where we can't see it.
func (a *Arena) dead(s *slot) bool {
	if s.host != hostTag(a.cfg.HostID) {
		return false
	}
	if s.pidns != 0 && s.pidns != pidNamespace() {
		return false
	}
	start, ok := startTime(int(s.pid))
	return !ok || start != s.start
}
