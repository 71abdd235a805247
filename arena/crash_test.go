package arena

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"cmpi/flush"
)

// victimEnv makes the test binary a process that creates and destroys objects
// until it is killed: "path mode host seed".
const victimEnv = "CMPI_ARENA_TEST_VICTIM"

func TestMain(m *testing.M) {
	if args := os.Getenv(victimEnv); args != "" {
		victim(args)
	}
	os.Exit(m.Run())
}

func victim(args string) {
	var path string
	var mode, host int
	var seed uint64
	if _, err := fmt.Sscan(args, &path, &mode, &host, &seed); err != nil {
		panic(err)
	}
	a, err := Open(Config{
		Path: path, Mode: flush.Mode(mode), HostID: [16]byte{byte(host)},
		Flush: flush.Options{Seed: seed, Chaos: -1},
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	rng := rand.New(rand.NewPCG(seed, 0))
	for {
		name := fmt.Sprint("victim ", rng.IntN(12))
		size := 1 + rng.Int64N(40_000)
		if rng.IntN(10) == 0 {
			size += largeObject
		}
		_, err := a.Create(name, size)
		if errors.Is(err, ErrExists) {
			err = a.Destroy(name)
		}
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrPoolFull) {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

// TestKilledInTheMiddle kills processes of two hosts with SIGKILL while they
// change the pool, again and again. Whoever comes next finds the pool sound,
// and GC leaves nothing of the dead.
//
// A host that dies as a whole inside the lock stops the others until it is
// evicted, so after each round a successor of each host looks at the pool.
func TestKilledInTheMiddle(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		rounds, _ := strconv.Atoi(os.Getenv("CMPI_ARENA_CRASH_ROUNDS"))
		rounds = max(rounds, 6)
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d, %d rounds", seed, rounds)
		c.Path = filepath.Join(shmDir(t), "pool")
		c.Size = 24 << 20
		var as []*Arena
		for h := range 2 {
			as = append(as, mustOpen(t, otherHost(c, byte(h+1))))
		}
		free := mustStat(t, as[0]).Free
		rng := rand.New(rand.NewPCG(seed, 7))
		for round := range rounds {
			var vs []*exec.Cmd
			for i := range 3 {
				vs = append(vs, startVictim(t, c, 1+i%2, seed+uint64(round*8+i)))
			}
			time.Sleep(time.Duration(1+rng.IntN(15)) * time.Millisecond)
			for _, v := range vs {
				v.Process.Kill()
				v.Wait()
			}
			// Both hosts may have died inside one after the other, each waiting
			// for the other's ticket to be cleared: let both heirs in at once.
			done := make(chan error, len(as))
			for _, a := range as {
				go func() { done <- a.withLock(func() error { return nil }) }()
			}
			for range as {
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			}
			mustBeSound(t, as[0])
			for _, a := range as {
				if _, err := a.GC(); err != nil {
					t.Fatal(err)
				}
			}
			if r := mustBeSound(t, as[1]); r.Objects != 0 {
				t.Fatalf("GC left %d objects of the dead", r.Objects)
			}
		}
		if now := mustStat(t, as[0]).Free; now != free {
			t.Errorf("%d bytes free, %d at first", now, free)
		}
	})
}

// startVictim starts a victim and waits until it has opened the pool.
func startVictim(t *testing.T, c Config, host int, seed uint64) *exec.Cmd {
	t.Helper()
	v := exec.Command(os.Args[0])
	v.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d %d", victimEnv, c.Path, c.Mode, host, seed))
	out, err := v.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("victim says %q", line)
	}
	return v
}

func TestGC(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		a := mustOpen(t, c)
		if _, err := a.Create("mine", 10); err != nil {
			t.Fatal(err)
		}
		for i, o := range []Owner{
			{Host: c.HostID, PID: 1 << 22, Start: 5},                    // no such process
			{Host: c.HostID, PID: uint32(os.Getpid()), Start: 1},        // recycled pid
			{Host: [16]byte{99}, PID: 1 << 22},                          // another host
			{Host: c.HostID, PID: 1 << 22, PIDNS: pidNamespace() + 1e6}, // gone, where we can't see
			{Host: c.HostID, PID: 1 << 22, PIDNS: pidNamespace() + 2e6}, // living there
		} {
			cc := c
			cc.Owner = o
			cc.Flush.Seed += uint64(i)
			b := mustOpen(t, cc)
			for _, size := range []int64{100, largeObject} {
				if _, err := b.Create(fmt.Sprint(i, " ", size), size); err != nil {
					t.Fatal(err)
				}
			}
			if o.PIDNS != pidNamespace()+2e6 {
				b.Close()
			}
		}
		if n, err := a.GC(); n != 6 || err != nil {
			t.Errorf("collected %d, %v; want 6", n, err)
		}
		l, err := a.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range l {
			if i.Life == Dead || i.Name[0] == '0' || i.Name[0] == '1' || i.Name[0] == '3' {
				t.Errorf("left: %+v", i)
			}
		}
		if len(l) != 5 {
			t.Errorf("%d objects are left, want 5", len(l))
		}
		mustBeSound(t, a)
	})
}
