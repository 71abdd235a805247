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

	"cmpi/arena"
	"cmpi/tests/remains"
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
	by, err := remains.NewBystander(*pool, poolSize)
	if err != nil {
		return err
	}
	defer by.Close()
	kills, start, told := 0, time.Now(), time.Now()
	for i := range *rounds {
		s := *seed + uint64(i)
		killed, err := round(rand.New(rand.NewPCG(s, 0)))
		if err == nil {
			err = by.Look()
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
	victims := remains.Descendants(cmd.Process.Pid, program[0])
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
	if left := remains.WithPool(*pool, nil, endLimit); len(left) > 0 {
		return killed, fmt.Errorf("%s: processes %v live %v after a kill", program[0], left, endLimit)
	}
	return killed, look()
}

// look checks the pool, collects what the dead of each host have left, and finds
// nothing but the bystander's.
func look() error {
	stays := func(o arena.Info) bool { return o.Name == remains.BystanderName }
	return remains.Clear(*pool, []string{"a", "b"}, stays, endLimit)
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
