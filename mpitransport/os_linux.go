package mpitransport

import (
	"errors"
	"hash/fnv"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cmpi/arena"
)

// osYield gives the processor to another runnable thread. The raw call keeps
// Go's scheduler out of it: the thread is the application's, and there is no
// goroutine to run in its place.
func osYield() {
	syscall.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
}

// osSleep suspends the thread for about d.
func osSleep(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// pidNamespace stands for this process's pid namespace, among those of all
// kernels; 0 when unknown. Inodes alone tell only those of one kernel apart.
func pidNamespace() uint64 {
	fi, err := os.Stat("/proc/self/ns/pid")
	if err != nil {
		return 0
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	h := fnv.New64a()
	boot := arena.BootID()
	h.Write(boot[:])
	return h.Sum64() ^ st.Ino
}

// allowedCPUs is the set of processors that this thread may run on.
func allowedCPUs() (s cpuSet) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return cpuSet{^uint64(0), ^uint64(0)}
	}
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			s[i/64%2] |= 1 << (i % 64)
		}
	}
	return s
}

const singleCopySupported = true

// iovecs is room for the arguments of one copy between processes. The remote
// address means nothing here, so it is a number.
type iovecs struct {
	local  unix.Iovec
	remote struct {
		addr uint64
		n    uint64
	}
}

// copyFrom copies n bytes at addr in process pid to dst; false when the kernel
// refuses or copies less.
func (v *iovecs) copyFrom(pid uint32, dst unsafe.Pointer, addr uint64, n int) bool {
	return v.copy(unix.SYS_PROCESS_VM_READV, pid, dst, addr, n)
}

// copyTo copies n bytes at src to addr in process pid.
func (v *iovecs) copyTo(pid uint32, src unsafe.Pointer, addr uint64, n int) bool {
	return v.copy(unix.SYS_PROCESS_VM_WRITEV, pid, src, addr, n)
}

func (v *iovecs) copy(call uintptr, pid uint32, local unsafe.Pointer, addr uint64, n int) bool {
	v.local.Base = (*byte)(local)
	v.local.SetLen(n)
	v.remote.addr, v.remote.n = addr, uint64(n)
	// A raw call: it lasts microseconds, less than handing this thread's
	// place in Go's scheduler over and back.
	got, _, errno := syscall.RawSyscall6(call, uintptr(pid), uintptr(unsafe.Pointer(&v.local)), 1,
		uintptr(unsafe.Pointer(&v.remote)), 1, 0)
	v.local.Base = nil
	return errno == 0 && int(got) == n
}

// processRuns reports whether a process of this pid namespace still runs.
func processRuns(pid uint32) bool {
	stat, err := os.ReadFile("/proc/" + strconv.FormatUint(uint64(pid), 10) + "/stat")
	if errors.Is(err, os.ErrNotExist) {
		// Without /proc the signal 0 tells; it is blind for zombies.
		return unix.Kill(int(pid), 0) != unix.ESRCH
	}
	return err != nil || runs(stat)
}
