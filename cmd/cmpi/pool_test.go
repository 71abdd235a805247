package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cmpi/arena"
)

// execute runs cmpi with the given arguments in this process.
func execute(t testing.TB, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&errs)
	err = root.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

// must runs cmpi and gives what it prints.
func must(t testing.TB, args ...string) string {
	t.Helper()
	out, _, err := execute(t, args...)
	if err != nil {
		t.Fatalf("cmpi %q: %v\n%s", args, err, out)
	}
	return out
}

// mustJSON runs cmpi with --json.
func mustJSON[T any](t testing.TB, args ...string) (v T) {
	t.Helper()
	out := must(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("cmpi %q: %v\n%s", args, err, out)
	}
	return v
}

// mustFail runs cmpi, which must fail with one line that has the given text.
func mustFail(t testing.TB, want string, args ...string) {
	t.Helper()
	out, _, err := execute(t, args...)
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("cmpi %q: error %v, want one line with %q\n%s", args, err, want, out)
	}
}

// victimEnv makes the test binary a process that makes objects in a pool and
// waits to be killed: "path name...".
const victimEnv = "TEST_CMPI_VICTIM"

func victim(args string) {
	fields := strings.Fields(args)
	c, err := poolConfig(fields[0])
	var a *arena.Arena
	if err == nil {
		a, err = arena.Open(c)
	}
	for _, name := range fields[1:] {
		if err == nil {
			_, err = a.Create(name, 5000)
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	time.Sleep(time.Hour)
}

// startVictim starts a process that owns objects; kill ends it with SIGKILL.
func startVictim(t testing.TB, pool string, names ...string) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asCommand+"=", victimEnv+"="+pool+" "+strings.Join(names, " "))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	t.Cleanup(kill)
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the other process says %q", line)
	}
	return kill
}

func newPool(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pool")
	must(t, "pool", "init", path, "--size", "16M")
	return path
}

func names(objects []objectInfo) (list []string) {
	for _, o := range objects {
		list = append(list, o.Name)
	}
	slices.Sort(list)
	return list
}

// TestPoolLife: a pool with a job that lives, then is dead, then is gone.
func TestPoolLife(t *testing.T) {
	pool := newPool(t)
	kill := startVictim(t, pool, "j/abc/root", "j/abc/0/0", "flags")
	list := mustJSON[[]objectInfo](t, "pool", "ls", pool)
	if got := names(list); !slices.Equal(got, []string{"flags", "j/abc/0/0", "j/abc/root"}) {
		t.Fatalf("objects %q", got)
	}
	for _, o := range list {
		if o.Owner != "alive" || o.Size != 5000 || o.UID != uint32(os.Getuid()) || !o.Ready || o.Host == "" ||
			o.Started == nil || time.Since(*o.Started) > time.Hour || (o.Job == "abc") != strings.HasPrefix(o.Name, "j/") {
			t.Errorf("%+v", o)
		}
	}
	if text := must(t, "pool", "ls", pool); !strings.Contains(text, "j/abc/root") || strings.Count(text, "alive") != 3 {
		t.Error(text)
	}
	jobs := mustJSON[[]jobInfo](t, "pool", "ls", "--jobs", pool)
	if len(jobs) != 1 || jobs[0] != (jobInfo{"abc", "alive", 2, 10000, 1, 0, 0}) {
		t.Errorf("jobs %+v", jobs)
	}
	st := mustJSON[poolStat](t, "pool", "stat", pool)
	if st.Objects != 3 || st.Used != 3*8192 || st.Free+st.Used+st.Metadata != st.Size || st.Runs != 1 || len(st.Jobs) != 1 ||
		len(st.Hosts) != 1 || !st.Hosts[0].Self || st.Hosts[0].Lock != "idle" || st.Largest > st.Free {
		t.Errorf("%+v", st)
	}
	if text := must(t, "pool", "stat", pool); !strings.Contains(text, "3 objects") || !strings.Contains(text, "abc, alive, 2 objects") {
		t.Error(text)
	}

	// Nothing of it is touched while it lives.
	if freed := mustJSON[freedInfo](t, "pool", "gc", pool); len(freed.Freed) != 0 {
		t.Errorf("freed of a live process: %+v", freed)
	}
	mustFail(t, "is alive; end it, or use --force", "pool", "rm", pool, "flags")
	mustFail(t, "is alive", "pool", "rm", pool, "--job", "abc")
	mustFail(t, "is in use", "pool", "init", pool)
	if n := len(mustJSON[[]objectInfo](t, "pool", "ls", pool)); n != 3 {
		t.Fatalf("%d objects are left", n)
	}

	kill()
	if jobs := mustJSON[[]jobInfo](t, "pool", "ls", "--jobs", pool); len(jobs) != 1 || jobs[0].State != "dead" {
		t.Errorf("jobs %+v", jobs)
	}
	if would := mustJSON[freedInfo](t, "pool", "gc", "--dry-run", pool); len(would.Freed) != 3 {
		t.Errorf("would free %+v", would)
	}
	if removed := mustJSON[freedInfo](t, "pool", "rm", pool, "flags"); len(removed.Freed) != 1 || removed.Bytes != 5000 {
		t.Errorf("removed %+v", removed)
	}
	if freed := mustJSON[freedInfo](t, "pool", "gc", pool); len(freed.Freed) != 2 || freed.Bytes != 10000 {
		t.Errorf("freed %+v", freed)
	}
	if r := mustJSON[fsckReport](t, "pool", "fsck", pool); r.Objects != 0 || len(r.Findings) != 0 {
		t.Errorf("%+v", r)
	}
}

// TestPoolGCHoldsJobs: what a dead rank left stays as long as another rank of
// its job lives, which may be writing there.
func TestPoolGCHoldsJobs(t *testing.T) {
	pool := newPool(t)
	kill := startVictim(t, pool, "j/abc/0/0")
	killOther := startVictim(t, pool, "j/abc/1/0")
	kill()
	freed := mustJSON[freedInfo](t, "pool", "gc", "--force", pool)
	if len(freed.Freed) != 0 || len(freed.Held) != 1 {
		t.Errorf("%+v", freed)
	}
	if text := must(t, "pool", "gc", pool); !strings.Contains(text, "left 1 object of dead processes") {
		t.Error(text)
	}
	mustFail(t, "has the same job as j/abc/0/0 and is alive", "pool", "rm", pool, "j/abc/0/0")
	killOther()
	if freed := mustJSON[freedInfo](t, "pool", "gc", pool); len(freed.Freed) != 2 {
		t.Errorf("%+v", freed)
	}
}

// TestPoolOtherHost: of a process on another host nothing is known.
func TestPoolOtherHost(t *testing.T) {
	pool := newPool(t)
	t.Setenv("CMPI_HOST", "elsewhere")
	startVictim(t, pool, "j/abc/1/0")
	t.Setenv("CMPI_HOST", "")
	kill := startVictim(t, pool, "j/abc/0/0")
	kill()
	list := mustJSON[[]objectInfo](t, "pool", "ls", pool)
	for _, o := range list {
		if want := map[string]string{"j/abc/0/0": "dead", "j/abc/1/0": "unknown"}[o.Name]; o.Owner != want {
			t.Errorf("%s is %s, want %s", o.Name, o.Owner, want)
		}
	}
	if freed := mustJSON[freedInfo](t, "pool", "gc", pool); len(freed.Freed) != 0 || len(freed.Held) != 1 {
		t.Errorf("%+v", freed)
	}
	mustFail(t, "may be alive", "pool", "rm", pool, "--job", "abc")
	mustFail(t, "may be alive", "pool", "init", pool)
	if freed := mustJSON[freedInfo](t, "pool", "gc", "--force", pool); len(freed.Freed) != 1 {
		t.Errorf("%+v", freed)
	}
	id := arena.FormatID(arena.KernelID("elsewhere"))
	mustFail(t, "no id of a host", "pool", "evict", pool, "elsewhere")
	mustFail(t, "has no host", "pool", "evict", pool, arena.FormatID([16]byte{1}))
	mustFail(t, "it is the host that asks", "pool", "evict", pool, arena.FormatID(arena.BootID()))
	if text := must(t, "pool", "evict", pool, id); !strings.Contains(text, "removed 1 object") {
		t.Error(text)
	}
	if st := mustJSON[poolStat](t, "pool", "stat", pool); len(st.Hosts) != 1 || st.Objects != 0 {
		t.Errorf("%+v", st)
	}
}

func TestPoolRemove(t *testing.T) {
	pool := newPool(t)
	kill := startVictim(t, pool, "a", "b", "j/x/root")
	mustFail(t, "no object of this name: none", "pool", "rm", pool, "a", "none")
	mustFail(t, "holds nothing of a job y", "pool", "rm", pool, "--job", "y")
	mustFail(t, "remove what?", "pool", "rm", pool)
	if removed := mustJSON[freedInfo](t, "pool", "rm", "--force", pool, "a"); len(removed.Freed) != 1 {
		t.Errorf("%+v", removed)
	}
	kill()
	if text := must(t, "pool", "rm", pool, `"b"`, "--job", "x"); !strings.Contains(text, "removed 2 objects") {
		t.Error(text)
	}
}

// TestHostileNames: what a name may hold does not reach the terminal.
func TestHostileNames(t *testing.T) {
	pool := newPool(t)
	c, err := poolConfig(pool)
	if err != nil {
		t.Fatal(err)
	}
	a, err := arena.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, name := range []string{"\x1b[2J", "two words", "\xff\xfe", `"quoted"`, "ünï", "line\nend"} {
		if _, err := a.Create(name, 1); err != nil {
			t.Fatal(err)
		}
		text := must(t, "pool", "ls", pool)
		if strings.Contains(text, "\x1b") || strings.Contains(text, "\xff") || strings.Count(text, "\n") != 2 {
			t.Errorf("%q", text)
		}
		shown := safeName(name)
		if !strings.Contains(text, "\n"+shown+" ") {
			t.Errorf("%q is not shown as %q: %q", name, shown, text)
		}
		must(t, "pool", "rm", "--force", pool, shown)
	}
}

func TestPoolInit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pool")
	made := mustJSON[initReport](t, "pool", "init", path, "--size", "2M", "--mode", "0640", "--owner", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()))
	if made.Did != "made" || made.Size != 2<<20 || made.Mode != "0640" || made.Free == 0 || made.ID == "" {
		t.Errorf("%+v", made)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o640 || st.Size() != 2<<20 {
		t.Errorf("%v, %v", st, err)
	}
	again := mustJSON[initReport](t, "pool", "init", path)
	if again.Did != "replaced" || again.Size != 2<<20 || again.ID == made.ID || again.Mode != "0640" {
		t.Errorf("%+v", again)
	}

	t.Run("dead job", func(t *testing.T) {
		startVictim(t, path, "j/x/root")()
		if r := mustJSON[initReport](t, "pool", "init", path, "--size", "3M"); r.Lost != 1 || r.Size != 3<<20 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("live job", func(t *testing.T) {
		kill := startVictim(t, path, "j/x/root")
		mustFail(t, "has job x, is alive; end it first, or use --force", "pool", "init", path)
		r := mustJSON[initReport](t, "pool", "init", "--force", path)
		if r.Lost != 1 || r.Did != "replaced" || r.Size != 3<<20 {
			t.Errorf("%+v", r)
		}
		if list := mustJSON[[]objectInfo](t, "pool", "ls", path); len(list) != 0 {
			t.Errorf("%+v", list)
		}
		kill()
	})
	t.Run("open, but empty", func(t *testing.T) {
		kill := startVictim(t, path)
		mustFail(t, "pool is in use", "pool", "init", path)
		kill()
	})
	t.Run("text", func(t *testing.T) {
		text := filepath.Join(dir, "text")
		if err := os.WriteFile(text, []byte("dear diary\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		mustFail(t, "not a cMPI pool and not empty; use --force", "pool", "init", text)
		if b, _ := os.ReadFile(text); string(b) != "dear diary\n" {
			t.Errorf("now %q", b)
		}
		if r := mustJSON[initReport](t, "pool", "init", "--force", "--size", "2M", text); !r.NotPool || r.Size != 2<<20 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("zeroes", func(t *testing.T) {
		zeroes := filepath.Join(dir, "zeroes")
		if err := os.WriteFile(zeroes, make([]byte, 2<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := mustJSON[initReport](t, "pool", "init", zeroes); r.Did != "formatted" || r.Size != 2<<20 {
			t.Errorf("%+v", r)
		}
		os.WriteFile(zeroes, make([]byte, 2<<20), 0o600)
		if r := mustJSON[initReport](t, "pool", "init", zeroes, "--size", "4M"); r.Size != 4<<20 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("errors", func(t *testing.T) {
		mustFail(t, "at least 1048576 bytes", "pool", "init", filepath.Join(dir, "x"), "--size", "64")
		mustFail(t, "octal", "pool", "init", filepath.Join(dir, "x"), "--mode", "rw")
		mustFail(t, "no user", "pool", "init", filepath.Join(dir, "x"), "--owner", "nobody-of-this-name")
		mustFail(t, "cannot be used as a pool", "pool", "init", dir)
		mustFail(t, "cannot be used as a pool", "pool", "init", "/dev/null")
		mustFail(t, "is a device", "pool", "init", "/dev/null", "--size", "1G")
		mustFail(t, "does not exist", "pool", "init", filepath.Join(dir, "none", "pool"))
		if left, _ := filepath.Glob(filepath.Join(dir, "x*")); len(left) != 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}

// spoilt are files that are no pools any more, and what is said of them.
var spoilt = []struct {
	name  string
	spoil func(b []byte) []byte
	says  string
}{
	{"text", func([]byte) []byte { return []byte("The quick brown fox\n") }, "not a cMPI pool"},
	{"empty", func([]byte) []byte { return nil }, "never formatted"},
	{"truncated", func(b []byte) []byte { return b[:len(b)/2] }, "shorter than it was"},
	{"very truncated", func(b []byte) []byte { return b[:100] }, "shorter than it was"},
	{"another version", func(b []byte) []byte { b[8]++; return b }, "another layout version"},
	{"superblock damaged", func(b []byte) []byte { b[40]++; return b }, "metadata is corrupt"},
}

// TestSpoiltPools: every command says in one line what is wrong, and changes
// nothing.
func TestSpoiltPools(t *testing.T) {
	good, err := os.ReadFile(newPool(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range spoilt {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pool")
			bad := tc.spoil(slices.Clone(good))
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"ls"}, {"ls", "--json"}, {"stat"}, {"gc"}, {"fsck"}, {"fsck", "--repair", "--force"}} {
				mustFail(t, tc.says, append(append([]string{"pool"}, args...), path)...)
			}
			mustFail(t, tc.says, "pool", "rm", path, "x")
			mustFail(t, tc.says, "pool", "evict", path, arena.FormatID([16]byte{1}))
			if tc.name != "empty" { // of which init makes a pool
				mustFail(t, "--force", "pool", "init", path)
			}
			if now, _ := os.ReadFile(path); !bytes.Equal(now, bad) {
				t.Error("it was changed")
			}
			must(t, "pool", "init", "--force", "--size", "2M", path)
			must(t, "pool", "fsck", path)
		})
	}
	mustFail(t, "does not exist", "pool", "ls", filepath.Join(t.TempDir(), "none"))
	t.Setenv("CMPI_POOL", "")
	mustFail(t, "which pool?", "pool", "ls")
	t.Setenv("CMPI_POOL", newPool(t))
	must(t, "pool", "ls")
}

// TestPoolFsck: damage is found, told with what repairs it, and repaired.
func TestPoolFsck(t *testing.T) {
	pool := newPool(t)
	kill := startVictim(t, pool, "a", "b")
	kill()
	b, err := os.ReadFile(pool)
	if err != nil {
		t.Fatal(err)
	}
	name := bytes.Index(b, append([]byte("a"), make([]byte, 62)...)) // of a slot's second line
	b[name] = 'c'
	if err := os.WriteFile(pool, b, 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, err := execute(t, "pool", "fsck", "--json", pool)
	var r fsckReport
	if jsonErr := json.Unmarshal([]byte(out), &r); jsonErr != nil || !errors.Is(err, exitStatus(1)) {
		t.Fatalf("%v, %v", jsonErr, err)
	}
	if len(r.Findings) != 2 || r.Findings[0].Part != arena.PartSlot || r.Findings[0].Repair != "idle" || r.Objects != 1 {
		t.Errorf("%+v", r)
	}
	if now, _ := os.ReadFile(pool); !bytes.Equal(now, b) {
		t.Error("fsck has written")
	}
	mustFail(t, "slot", "pool", "ls", pool) // and yet it lists what there is
	if out, _, _ := execute(t, "pool", "ls", pool); !strings.Contains(out, "\nb ") {
		t.Error(out)
	}
	if _, _, err := execute(t, "pool", "fsck", "--repair", pool); !errors.Is(err, exitStatus(1)) {
		t.Errorf("repair without force: %v", err)
	}
	kill = startVictim(t, pool)
	mustFail(t, "pool is in use", "pool", "fsck", "--repair", "--force", pool)
	kill()
	mustFail(t, "--force is for --repair", "pool", "fsck", "--force", pool)
	if text := must(t, "pool", "fsck", "--repair", "--force", pool); !strings.Contains(text, "put right: 2 findings") || !strings.Contains(text, "1 object, 5000 B") && !strings.Contains(text, "sound") {
		t.Error(text)
	}
	must(t, "pool", "fsck", pool)
}

// FuzzPool: whatever is in a pool's metadata, the commands end with success or
// an error of one line.
func FuzzPool(f *testing.F) {
	good, err := os.ReadFile(newPool(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		noise := make([]byte, 300)
		for i := range noise {
			noise[i] = byte(rng.Uint32())
		}
		f.Add(noise)
	}
	f.Fuzz(func(t *testing.T, noise []byte) {
		path := filepath.Join(t.TempDir(), "pool")
		b := slices.Clone(good)
		// Behind the superblock, whose damage is the subject of other tests: 8
		// bytes of noise at each place.
		for ; len(noise) >= 10; noise = noise[10:] {
			at := 4096 + (int(noise[0])|int(noise[1])<<8)*16
			copy(b[at:at+8], noise[2:10])
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"ls"}, {"ls", "--jobs"}, {"stat"}, {"gc"}, {"fsck"}, {"fsck", "--repair"}, {"fsck", "--repair", "--force"}, {"init"}} {
			_, _, err := execute(t, append(append([]string{"pool"}, args...), path, "--timeout", "1ms")...)
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v", args, err)
			}
		}
	})
}

// TestGuarded: a file that is cut off while it is mapped is an error.
func TestGuarded(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 16); err != nil {
		t.Fatal(err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, 1<<16, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	err = guarded("the pool", func() error { return fmt.Errorf("read %d", mem[5000]) })
	if err == nil || !strings.Contains(err.Error(), "it was cut off") {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a fault of ours was hidden")
		}
	}()
	guarded("the pool", func() error { return []error{}[len(os.Args)] })
}
