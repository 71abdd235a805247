package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cmpi/flush"
)

// Machine describes where and when a measurement was made.
type Machine struct {
	Date     time.Time         `json:"date"`
	CPU      string            `json:"cpu"`
	Cores    int               `json:"cores"`
	MemoryMB uint64            `json:"memory_mb"`
	Caches   string            `json:"cache_instructions"` // what package flush found and chose
	Kernel   string            `json:"kernel"`
	OS       string            `json:"os"`
	Load     string            `json:"load_average"` // at the start; 1, 5 and 15 minutes
	Versions map[string]string `json:"versions"`
}

// describeMachine asks this machine. What it does not answer stays empty.
func describeMachine(ctx context.Context) Machine {
	m := Machine{
		Date:   time.Now().UTC().Truncate(time.Second),
		CPU:    valueOf("/proc/cpuinfo", "model name", ":"),
		Cores:  runtime.NumCPU(),
		Caches: flush.Caps().String(),
		OS:     strings.Trim(valueOf("/etc/os-release", "PRETTY_NAME", "="), `"`),
		Versions: map[string]string{
			"go":      runtime.Version(),
			"mpich":   HostVersion(ctx, mpich.name),
			"openmpi": HostVersion(ctx, openMPI.name),
			"gcc":     firstLine(ctx, "gcc", "-dumpfullversion"),
		},
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:]) + " " + unix.ByteSliceToString(u.Machine[:])
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.MemoryMB = info.Totalram * uint64(info.Unit) >> 20
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load = strings.Join(strings.Fields(string(load))[:3], " ")
	}
	return m
}

// String is one paragraph for people.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, %d MB, %s, kernel %s; cMPI %s, MPICH %s, Open MPI %s, %s, gcc %s; %s; load average %s at the start; %s",
		m.CPU, m.Cores, m.MemoryMB, m.OS, m.Kernel, orNone(m.Versions["cmpi"]), orNone(m.Versions["mpich"]), orNone(m.Versions["openmpi"]),
		m.Versions["go"], orNone(m.Versions["gcc"]), m.Caches, m.Load, m.Date.Format("2006-01-02 15:04 UTC"))
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

// HostVersion is the version of an installed MPI library, "mpich" or
// "openmpi"; "" if it is not there.
func HostVersion(ctx context.Context, name string) string {
	switch name {
	case mpich.name:
		out, _ := exec.CommandContext(ctx, mpich.starter, "--version").Output()
		for _, line := range strings.Split(string(out), "\n") {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "Version" {
				return strings.TrimSpace(value)
			}
		}
	case openMPI.name:
		line := firstLine(ctx, openMPI.starter, "--version")
		return line[strings.LastIndexByte(line, ' ')+1:]
	}
	return ""
}

// firstLine is the first line that a command prints; "" if it fails.
func firstLine(ctx context.Context, argv ...string) string {
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

// valueOf finds "key separator value" in a file of such lines.
func valueOf(path, key, separator string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if k, v, ok := strings.Cut(lines.Text(), separator); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
