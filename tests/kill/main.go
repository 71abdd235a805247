// Command kill kills ranks at random moments of a job, many times, and looks at
// what remains:
//
//	go run ./tests/kill [-n 1000] [-seed N] [-pool FILE]
//
// Each round starts four ranks as two hosts on one pool file, which all rounds
// share, and kills one of them, all of one host, or the launcher with SIGKILL
// after a random time: while they start, talk, use windows, or end. Then
//
//   - the job must end within a limit,
//   - cmpi's check must find the pool sound,
//   - a collection must leave nothing of the job in the pool,
//   - now and then a whole job must run on it without a fault.
//
// A bystander, a process that owns an object with a pattern all the time, must
// not lose a byte. Fails with the seed of the round. Root is not needed.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"cmpi/arena"
	"cmpi/flush"
	"cmpi/mpitransport"
)

var (
	rounds  = flag.Int("n", 1000, "rounds")
	seed    = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the first round; the next one has the next")
	pool    = flag.String("pool", "/dev/shm/cmpi-kill-pool", "the pool file; removed first and at the end")
	library = flag.String("library", "build/out/libcmpi.so", "the library")
)

// Programs that are killed, with what keeps them busy for about a second.
var programs = [][]string{
	{"traffic"},
	{"halo"},
	{"large"},
	{"rma_queue"},
	{"rma_hash"},
	{"rma_windows", "windows=40"},
}

const (
	ranks     = 4
	endLimit  = 30 * time.Second // for the launcher after the kill; normally some 0.1 s
	longest   = 600 * time.Millisecond
	wholeJobs = 50 // rounds between two jobs that nobody kills
	poolSize  = 256 << 20
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kill:", err)
		fmt.Println("0 passed, 1 failed")
		os.Exit(1)
	}
	fmt.Println("1 passed, 0 failed")
}

func run() error {
	if _, err := exec.LookPath("mpiexec.mpich"); err != nil {
		return fmt.Errorf("MPICH is missing (build/setup): %w", err)
	}
	for _, file := range []string{*library, "build/out/programs/traffic"} {
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("build first (make lib; tests/programs/build.sh): %w", err)
		}
	}
	os.Remove(*pool)
	defer os.Remove(*pool)
	by, err := newBystander()
	if err != nil {
		return err
	}
	defer by.a.Close()
	kills, start, told := 0, time.Now(), time.Now()
	for i := range *rounds {
		s := *seed + uint64(i)
		killed, err := round(rand.New(rand.NewPCG(s, 0)))
		if err == nil {
			err = by.look()
		}
		if err == nil && i%wholeJobs == wholeJobs-1 {
			err = whole()
		}
		if err != nil {
			return fmt.Errorf("round %d (-n 1 -seed %d): %w", i, s, err)
		}
		if killed {
			kills++
		}
		if time.Since(told) > 10*time.Second || i == *rounds-1 {
			told = time.Now()
			fmt.Printf("%6.0f s  round %d of %d, %d killed, the pool is sound\n", time.Since(start).Seconds(), i+1, *rounds, kills)
		}
	}
	return nil
}

// start starts a program as two hosts of two ranks.
func start(program []string) (*exec.Cmd, *bytes.Buffer, error) {
	lib, err := filepath.Abs(*library)
	if err != nil {
		return nil, nil, err
	}
	part := func(host string) []string {
		p := []string{"-n", strconv.Itoa(ranks / 2), "-env", "CMPI_HOST", host, "build/out/programs/" + program[0]}
		return append(p, program[1:]...)
	}
	args := []string{"-genv", "LD_PRELOAD", lib, "-genv", "CMPI_POOL", *pool, "-genv", "CMPI_REQUIRE", "1"}
	args = append(append(append(args, part("a")...), ":"), part("b")...)
	var out bytes.Buffer
	cmd := exec.Command("mpiexec.mpich", args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	return cmd, &out, cmd.Start()
}

// round kills one job. killed is false if it was too late.
func round(r *rand.Rand) (killed bool, err error) {
	program := programs[r.IntN(len(programs))]
	cmd, out, err := start(program)
	if err != nil {
		return false, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	time.Sleep(time.Duration(r.Int64N(int64(longest))))
	victims := descendants(cmd.Process.Pid, program[0])
	switch r.IntN(4) {
	case 0: // the launcher
		victims = []int{cmd.Process.Pid}
	case 1: // a host
		victims = victims[len(victims)/2:]
	default: // a rank
		if len(victims) > 0 {
			victims = []int{victims[r.IntN(len(victims))]}
		}
	}
	for _, pid := range victims {
		killed = syscall.Kill(pid, syscall.SIGKILL) == nil || killed
	}
	limit := time.After(endLimit)
	select {
	case <-done:
	case <-limit:
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return killed, fmt.Errorf("%s did not end within %v of a kill:\n%s", program[0], endLimit, out)
	}
	// Without their launcher the ranks are on their own.
	for end := time.Now().Add(endLimit); ; time.Sleep(10 * time.Millisecond) {
		left := withPool()
		if len(left) == 0 {
			break
		}
		if time.Now().After(end) {
			return killed, fmt.Errorf("%s: processes %v live %v after a kill", program[0], left, endLimit)
		}
	}
	return killed, look()
}

// look checks the pool, collects what the dead of each host have left, and finds
// nothing but the bystander's.
func look() error {
	var hosts []*arena.Arena
	for _, host := range []string{"a", "b"} {
		a, err := arena.Open(arena.Config{Path: *pool, Mode: flush.Flush, HostID: arena.KernelID(host)})
		if err != nil {
			return err
		}
		defer a.Close()
		hosts = append(hosts, a)
		report, err := a.Inspect()
		if err != nil {
			return err
		}
		for _, f := range report.Findings {
			// A dead process may have died inside a change, which whoever comes next
			// ends; nothing else may be wrong.
			if f.Part != arena.PartJournal {
				return fmt.Errorf("the pool is not sound: %s: %s", f.Part, f.Text)
			}
		}
		// Processes of both hosts may have died on their way into the pool lock. In a
		// job the first ranks of the hosts do this at one time.
		if err := a.Heal(); err != nil && !errors.Is(err, arena.ErrLockTimeout) {
			return err
		}
	}
	// A process that dies loses its memory a little before the kernel says that it
	// is dead.
	var objects []arena.Info
	for end := time.Now().Add(endLimit); ; time.Sleep(10 * time.Millisecond) {
		for _, a := range hosts {
			var err error
			if _, _, err = mpitransport.Collect(a, true); err == nil {
				objects, err = a.List()
			}
			if err != nil {
				return err
			}
		}
		if len(objects) == 1 {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d objects are left, not only the bystander's: %+v", len(objects), objects)
		}
	}
	report, err := hosts[0].Check()
	if err != nil {
		return err
	}
	if len(report.Findings) > 0 {
		return fmt.Errorf("the pool is not sound after the collection: %+v", report.Findings)
	}
	return nil
}

// whole runs a job that nobody kills.
func whole() error {
	cmd, out, err := start([]string{"ring"})
	if err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil || strings.TrimSpace(out.String()) != "OK ring" {
		return fmt.Errorf("a job after the kills: %v:\n%s", err, out)
	}
	return nil
}

// descendants finds the processes below pid that run the program.
func descendants(pid int, program string) (list []int) {
	children := map[int][]int{}
	name := map[int]string{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
		fields := strings.Fields(string(b[end+1:]))
		if open < 0 || end < open || len(fields) < 2 {
			continue
		}
		self, _ := strconv.Atoi(strings.TrimSpace(string(b[:open])))
		parent, _ := strconv.Atoi(fields[1])
		children[parent] = append(children[parent], self)
		name[self] = string(b[open+1 : end])
	}
	for queue := children[pid]; len(queue) > 0; queue = queue[1:] {
		if name[queue[0]] == program {
			list = append(list, queue[0])
		}
		queue = append(queue, children[queue[0]]...)
	}
	return list
}

// withPool finds the processes, but this one, that have the pool mapped.
func withPool() (list []int) {
	maps, _ := filepath.Glob("/proc/[0-9]*/maps")
	for _, path := range maps {
		b, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(b, []byte(*pool)) {
			continue
		}
		if pid, _ := strconv.Atoi(strings.Split(path, "/")[2]); pid != os.Getpid() {
			list = append(list, pid)
		}
	}
	return list
}

// bystander is a process of another host that has nothing to do with the jobs.
type bystander struct {
	a *arena.Arena
	o *arena.Object
}

const bystanderSize = 1 << 20

func newBystander() (*bystander, error) {
	a, err := arena.Open(arena.Config{Path: *pool, Size: poolSize, Create: true, Mode: flush.Flush, HostID: arena.KernelID("bystander")})
	if err != nil {
		return nil, err
	}
	o, err := a.Create("bystander", bystanderSize)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	b := &bystander{a, o}
	want := make([]byte, bystanderSize)
	for i := range want {
		want[i] = patternAt(i)
	}
	a.View().CopyIn(unsafe.Add(a.View().Base(), o.Offset()), unsafe.Pointer(&want[0]), len(want))
	a.View().Fence()
	return b, nil
}

func patternAt(i int) byte { return byte(i*7 + i>>8) }

// look finds every byte of the bystander's as it was.
func (b *bystander) look() error {
	got := make([]byte, bystanderSize)
	b.a.View().CopyOut(unsafe.Pointer(&got[0]), unsafe.Add(b.a.View().Base(), b.o.Offset()), len(got))
	for i := range got {
		if got[i] != patternAt(i) {
			return fmt.Errorf("byte %d of another's object was changed", i)
		}
	}
	return nil
}
