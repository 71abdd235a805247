package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmpi/arena"
)

// These tests put jobs into trouble: pools that can't be used, full file
// systems, ranks that disagree, processes that are killed. Whatever happens, the
// library says so in one line, and the job does what it would do without it.

const (
	native   = "; running on the host MPI alone"
	stopping = "; stopping because CMPI_REQUIRE=1"
)

// ours are the lines that the library wrote.
func ours(r result) (lines []string) {
	for line := range strings.Lines(r.stderr) {
		if strings.HasPrefix(line, "cmpi:") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// checkNative is for hello.c on n ranks without the library's help: right, and
// one line that contains all of want.
func checkNative(t *testing.T, r result, n int, want ...string) {
	t.Helper()
	if r.stdout != fmt.Sprintf("hello from %d\n", n) || r.status != 0 || r.timedOut || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("%+v", r)
	}
	checkLine(t, r, append(want, native)...)
}

// checkStopped is the same with CMPI_REQUIRE=1.
func checkStopped(t *testing.T, r result, want ...string) {
	t.Helper()
	if strings.Contains(r.stdout, "hello") || r.status == 0 || r.timedOut {
		t.Errorf("%+v", r)
	}
	checkLine(t, r, append(want, stopping)...)
}

func checkLine(t *testing.T, r result, want ...string) {
	t.Helper()
	lines := ours(r)
	if len(lines) != 1 {
		t.Fatalf("%d lines of ours, want 1: %+v", len(lines), r)
	}
	for _, w := range want {
		if !strings.Contains(lines[0], w) {
			t.Errorf("%q does not contain %q", lines[0], w)
		}
	}
}

// checkCarried is for hello.c over the library, which has nothing to say.
func checkCarried(t *testing.T, r result, n int) {
	t.Helper()
	if r.stdout != fmt.Sprintf("hello from %d\n", n) || r.stderr != "" || r.status != 0 || r.timedOut {
		t.Errorf("%+v", r)
	}
}

// openPool opens the pool file at path, which is made if it is missing.
func openPool(t *testing.T, path string, size int64, owner arena.Owner) *arena.Arena {
	t.Helper()
	pool, err := arena.Open(arena.Config{Path: path, Size: size, Create: true, Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

// fill leaves no room in the pool, in objects of its arena's owner.
func fill(t *testing.T, pool *arena.Arena) {
	t.Helper()
	for i, size := 0, int64(1<<20); size >= 64; i++ {
		switch _, err := pool.Create(fmt.Sprint("fill/", i), size); {
		case errors.Is(err, arena.ErrPoolFull):
			size /= 2
		case err != nil:
			t.Fatal(err)
		}
	}
}

// deadOwner is a process of this host that has ended.
func deadOwner(t *testing.T) arena.Owner {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Skip(err)
	}
	owner := arena.Self(arena.BootID())
	owner.PID, owner.Start = uint32(cmd.Process.Pid), 1
	return owner
}

func TestUnusablePools(t *testing.T) {
	program := compile(t, "hello.c")
	const size = 8 << 20
	// Where the superblock has its version and its checksum.
	const versionAt, checksumAt = 8, 504
	tests := []struct {
		name  string
		spoil func(t *testing.T, path string)
		want  []string
	}{
		{"other layout version", func(t *testing.T, path string) {
			openPool(t, path, size, arena.Owner{}).Close()
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			binary.LittleEndian.PutUint32(b[versionAt:], 99)
			binary.LittleEndian.PutUint64(b[checksumAt:], crc64.Checksum(b[:checksumAt], crc64.MakeTable(crc64.ECMA)))
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"another layout version (version 99", "format it again"}},
		{"truncated", func(t *testing.T, path string) {
			openPool(t, path, size, arena.Owner{}).Close()
			if err := os.Truncate(path, size/2); err != nil {
				t.Fatal(err)
			}
		}, []string{"shorter than it was", "remove it, or restore"}},
		{"truncated inside the superblock", func(t *testing.T, path string) {
			openPool(t, path, size, arena.Owner{}).Close()
			if err := os.Truncate(path, 100); err != nil {
				t.Fatal(err)
			}
		}, []string{"shorter than it was", "remove it, or restore"}},
		{"no room for the ranks", func(t *testing.T, path string) {
			fill(t, openPool(t, path, size, arena.Owner{}))
		}, []string{"no room for 2 ranks", "pool is full", "use a larger pool"}},
		{"room for one rank of two", func(t *testing.T, path string) {
			openPool(t, path, 2<<20, arena.Owner{})
		}, []string{"no room for 2 ranks", "use a larger pool"}},
		{"a directory", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, []string{"a directory", "name a devdax device or a regular file"}},
		{"a FIFO", func(t *testing.T, path string) {
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Skip(err)
			}
		}, []string{"neither a file nor a devdax device"}},
	}
	for i, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pool")
			tc.spoil(t, path)
			checkNative(t, mpiexec(t, program, 2, "CMPI_POOL="+path), 2, tc.want...)
			if i%3 == 0 { // TestFallback has more of these
				checkStopped(t, mpiexec(t, program, 2, "CMPI_POOL="+path, "CMPI_REQUIRE=1"), tc.want...)
			}
		})
	}
}

// However long the path is, the line ends in what to do.
func TestLongProblem(t *testing.T) {
	program := compile(t, "hello.c")
	path := t.TempDir()
	for len(path) < 2000 {
		path = filepath.Join(path, strings.Repeat("d", 200))
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(path, "text")
	if err := os.WriteFile(path, []byte("not a pool\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	checkNative(t, mpiexec(t, program, 2, "CMPI_POOL="+path), 2, "name a pool, or a file that does not exist yet")
}

// A pool of someone else.
func TestForeignPool(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("no setpriv here")
	}
	program := compile(t, "hello.c")
	dir := t.TempDir()
	pool := filepath.Join(dir, "pool")
	openPool(t, pool, 8<<20, arena.Owner{})
	// The other user must reach library and program, and the closed pool, but not
	// the directory of this test.
	for _, path := range []string{library, program, pool} {
		for range 2 {
			path = filepath.Dir(path)
			if path != os.TempDir() {
				if err := os.Chmod(path, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, require := range []string{"0", "1"} {
		r := run(t, []string{"CMPI_POOL=" + pool, "CMPI_REQUIRE=" + require, "HOME=/"}, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
			"env", "LD_PRELOAD="+library, "mpiexec.mpich", "-wdir", "/", "-n", "2", program)
		if require == "0" {
			checkNative(t, r, 2, "no permission", "use a pool of your own")
		} else {
			checkStopped(t, r, "no permission")
		}
	}
}

// inOwnShm runs hello.c on two ranks where /dev/shm has the given size and
// nobody else is, and returns the names that it then holds. The host MPI keeps
// its own files elsewhere, as it can't do without.
func inOwnShm(t *testing.T, size, program string, env ...string) (r result, left string) {
	t.Helper()
	names := filepath.Join(t.TempDir(), "names")
	const script = `mount -t tmpfs -o size=$1 cmpi-test /dev/shm || exit 77
names=$2; shift 2; "$@"; code=$?; ls -A /dev/shm >"$names"; exit $code`
	env = append(env, "UCX_POSIX_DIR="+t.TempDir())
	r = run(t, env, "unshare", "-m", "sh", "-c", script, "sh", size, names,
		"env", "LD_PRELOAD="+library, "mpiexec.mpich", "-n", "2", program)
	b, err := os.ReadFile(names)
	if err != nil {
		t.Skipf("no /dev/shm of our own here: %s", r.stderr)
	}
	return r, string(b)
}

func TestFullShm(t *testing.T) {
	program := compile(t, "hello.c")
	want := []string{"filesystem of the pool is full", "free space there"}
	tests := []struct{ name, size, pool string }{
		{"no space", "64k", ""},
		{"space for one rank", "2m", ""},
		{"pool of the user", "64k", "CMPI_POOL=/dev/shm/mine"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r, left := inOwnShm(t, tc.size, program, tc.pool)
			checkNative(t, r, 2, want...)
			if strings.Contains(left, "cmpi-") {
				t.Errorf("left behind: %q", left)
			}
			r, left = inOwnShm(t, tc.size, program, tc.pool, "CMPI_REQUIRE=1")
			checkStopped(t, r, want...)
			if strings.Contains(left, "cmpi-") {
				t.Errorf("left behind: %q", left)
			}
		})
	}
	t.Run("enough", func(t *testing.T) {
		r, left := inOwnShm(t, "16m", program, "CMPI_REQUIRE=1")
		checkCarried(t, r, 2)
		if strings.Contains(left, "cmpi-") {
			t.Errorf("left behind: %q", left)
		}
	})
}

// ranksOf are the processes that run program and have a pool mapped.
func ranksOf(program string) (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if exe, err := os.Readlink(link); err != nil || exe != program {
			continue
		}
		maps, err := os.ReadFile(filepath.Join(filepath.Dir(link), "maps"))
		if err != nil || !strings.Contains(string(maps), filepath.Join(jobFileDir, jobFilePrefix())) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// eventually waits until ok, at most some seconds.
func eventually(ok func() bool) bool {
	for range 200 {
		if ok() {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return false
}

// A job under way is killed from outside.
func TestKilled(t *testing.T) {
	program := compile(t, "ends.c")
	for _, victim := range []string{"rank", "mpiexec"} {
		t.Run(victim, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), jobTimeout)
			defer cancel()
			var stderr strings.Builder
			cmd := exec.CommandContext(ctx, "mpiexec.mpich", "-n", "2", program, "wait")
			cmd.Env = append(os.Environ(), "LD_PRELOAD="+library)
			cmd.Stderr, cmd.WaitDelay = &stderr, time.Second
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// Both have the pool, and it has lost its name.
			started := eventually(func() bool { return len(ranksOf(program)) == 2 && len(jobFiles(t)) == 0 })
			pid := cmd.Process.Pid
			if ranks := ranksOf(program); victim == "rank" && len(ranks) > 0 {
				pid = ranks[0]
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			if err := cmd.Wait(); err == nil || ctx.Err() != nil || !started || strings.Contains(stderr.String(), "cmpi:") {
				t.Errorf("started %t, %v: %s", started, err, stderr.String())
			}
			if !eventually(func() bool { return len(ranksOf(program)) == 0 }) {
				t.Errorf("ranks %v live on", ranksOf(program))
			}
			// Other jobs of this user may be starting at any moment.
			if !eventually(func() bool { return len(jobFiles(t)) == 0 }) {
				t.Errorf("left behind: %q", jobFiles(t))
			}
		})
	}
}

// What a killed job leaves in a pool that stays is gone after the next job.
func TestKilledInPool(t *testing.T) {
	hello, ends := compile(t, "hello.c"), compile(t, "ends.c")
	for _, mode := range []string{"coherent", "flush", "emulate"} {
		t.Run(mode, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pool")
			env := []string{"CMPI_POOL=" + path, "CMPI_POOL_SIZE=32M", "CMPI_COHERENCE=" + mode, "CMPI_REQUIRE=1"}
			if r := run(t, append(env, "LD_PRELOAD="+library), "mpiexec.mpich", "-n", "2", ends, "kill"); r.timedOut || r.status == 0 || len(ours(r)) > 0 {
				t.Errorf("%+v", r)
			}
			pool := openPool(t, path, 0, arena.Owner{})
			if infos, err := pool.List(); err != nil || len(infos) == 0 {
				t.Errorf("the killed job left %d objects, %v: nothing to test", len(infos), err)
			}
			checkCarried(t, mpiexec(t, hello, 2, env...), 2)
			if infos, err := pool.List(); err != nil || len(infos) > 0 {
				t.Errorf("left behind: %+v, %v", infos, err)
			}
		})
	}
}

// A pool that is full of what dead jobs left has room.
func TestFullOfTheDead(t *testing.T) {
	program := compile(t, "hello.c")
	path := filepath.Join(t.TempDir(), "pool")
	fill(t, openPool(t, path, 8<<20, deadOwner(t)))
	checkCarried(t, mpiexec(t, program, 2, "CMPI_POOL="+path, "CMPI_REQUIRE=1"), 2)
}

// Ranks whose environments differ go the same way, all of them.
func TestDisagreement(t *testing.T) {
	program := compile(t, "hello.c")
	tests := []struct {
		name string
		env  string // of rank 1 alone
		want []string
		stop bool
	}{
		{"mode", "CMPI_COHERENCE=flush", []string{"ranks 0 and 1 have different CMPI_ settings"}, false},
		{"ring", "CMPI_RING=paper", []string{"ranks 0 and 1 have different CMPI_ settings"}, false},
		{"pool", "CMPI_POOL=/no/such/pool", []string{"ranks 0 and 1 have different CMPI_ settings"}, false},
		{"bad value", "CMPI_RING_LINES=7", []string{"rank 1: CMPI_RING_LINES=7", "must be between"}, false},
		{"unknown name", "CMPI_FISH=1", []string{"rank 1: unknown setting CMPI_FISH"}, false},
		{"required", "CMPI_REQUIRE=1", []string{"ranks 0 and 1 have different CMPI_ settings"}, true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			name, value, _ := strings.Cut(tc.env, "=")
			r := run(t, []string{"LD_PRELOAD=" + library}, "mpiexec.mpich", "-n", "1", program, ":", "-n", "1", "-env", name, value, program)
			if tc.stop {
				checkStopped(t, r, tc.want...)
			} else {
				checkNative(t, r, 2, tc.want...)
			}
		})
	}
	t.Run("disabled", func(t *testing.T) {
		r := run(t, []string{"LD_PRELOAD=" + library}, "mpiexec.mpich", "-n", "1", program, ":", "-n", "1", "-env", "CMPI_DISABLE", "1", program)
		checkCarried(t, r, 2)
	})
}

func TestRankCounts(t *testing.T) {
	program := compile(t, "hello.c")
	for _, n := range []int{1, 8} {
		for _, mode := range []string{"coherent", "flush", "emulate"} {
			t.Run(fmt.Sprintf("%d %s", n, mode), func(t *testing.T) {
				checkCarried(t, mpiexec(t, program, n, "CMPI_REQUIRE=1", "CMPI_COHERENCE="+mode), n)
			})
		}
	}
}

// NetPIPE as Debian ships it: a program that nobody here wrote.
func TestNetPIPE(t *testing.T) {
	program, err := exec.LookPath("NPmpich2")
	if err != nil {
		t.Skip("no NPmpich2 here (package netpipe-mpich2)")
	}
	for _, mode := range []string{"coherent", "flush", "emulate"} {
		t.Run(mode, func(t *testing.T) {
			table := filepath.Join(t.TempDir(), "np.out")
			env := []string{"LD_PRELOAD=" + library, "CMPI_REQUIRE=1", "CMPI_COHERENCE=" + mode}
			args := []string{"-n", "2", program, "-u", "65536", "-n", "5", "-o", table}
			if r := run(t, env, "mpiexec.mpich", args...); r.status != 0 || r.timedOut || len(ours(r)) > 0 {
				t.Fatalf("%+v", r)
			}
			checkNetPIPE(t, table)
			// With -i it checks the bytes instead of the time.
			args = append(args, "-i", "-u", "4096")
			r := run(t, env, "mpiexec.mpich", args...)
			if out := r.stdout + r.stderr; r.status != 0 || r.timedOut || len(ours(r)) > 0 || !strings.Contains(out, "Integrity check passed") ||
				strings.Contains(out, "failed") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// checkNetPIPE reads lines of bytes, Mbit/s and seconds.
func checkNetPIPE(t *testing.T, table string) {
	t.Helper()
	b, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for line := range strings.Lines(string(b)) {
		var n int
		var rate, seconds float64
		if _, err := fmt.Sscan(line, &n, &rate, &seconds); err != nil || n <= last || rate <= 0 || seconds <= 0 {
			t.Errorf("%q: %v", line, err)
		}
		last = n
	}
	if last < 65536 {
		t.Errorf("the last line is of %d bytes, want 65536 or more", last)
	}
}
