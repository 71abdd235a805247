package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmpi/cmd/cmpi/probe"
	"cmpi/flush"
	"cmpi/settings"
)

// preloadable makes a library that could be preloaded, as far as one can see.
func preloadable(t *testing.T) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skipf("no compiler to make a library with: %v", err)
	}
	dir := t.TempDir()
	source, library := filepath.Join(dir, "l.c"), filepath.Join(dir, "libcmpi.so")
	if err := os.WriteFile(source, []byte("int MPI_Init(void *c, void *v) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcc, "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return library
}

// examine runs cmpi doctor, whose processes are this test's binary.
func examine(t *testing.T, args ...string) (found []diagnosis, failed bool) {
	t.Helper()
	t.Setenv(asCommand, "1")
	out, _, err := execute(t, append([]string{"doctor", "--json"}, args...)...)
	if jsonErr := json.Unmarshal([]byte(out), &found); jsonErr != nil {
		t.Fatalf("%v, %v\n%s", err, jsonErr, out)
	}
	if err != nil && !errors.Is(err, exitStatus(1)) {
		t.Fatal(err)
	}
	return found, err != nil
}

// of gives what was found by one check.
func of(found []diagnosis, check string) (some []diagnosis) {
	for _, f := range found {
		if f.Check == check {
			some = append(some, f)
		}
	}
	return some
}

// expect wants one finding of a check with a level and a text.
func expect(t *testing.T, found []diagnosis, check string, l level, text string) {
	t.Helper()
	for _, f := range of(found, check) {
		if f.Level == l && strings.Contains(f.Text, text) {
			if l != levelOK && f.Remedy == "" {
				t.Errorf("no remedy: %+v", f)
			}
			return
		}
	}
	t.Errorf("want %s %s with %q, found %+v", l, check, text, of(found, check))
}

func TestDoctorHere(t *testing.T) {
	library := preloadable(t)
	pool := newPool(t)
	t.Setenv("CMPI_POOL", pool)
	found, _ := examine(t, "--lib", library)
	expect(t, found, "settings", levelOK, "CMPI_POOL="+pool)
	expect(t, found, "mode", levelOK, "coherent")
	expect(t, found, "pool", levelWarn, "file of 16 MiB")
	expect(t, found, "exchange", levelOK, "mode coherent: two processes reach each other")
	if flush.Caps().WriteBack != "" {
		expect(t, found, "exchange", levelOK, "mode flush: two processes reach each other")
	}
	if len(of(found, "single copy")) != 1 {
		t.Errorf("single copy: %+v", of(found, "single copy"))
	}
	if list := mustJSON[[]objectInfo](t, "pool", "ls", pool); len(list) != 0 {
		t.Errorf("left in the pool: %+v", list)
	}

	startVictim(t, pool, "a")()
	found, _ = examine(t, "--lib", library)
	expect(t, found, "pool", levelWarn, "1 object of dead processes")
}

func TestDoctorPools(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		pool  string
		level level
		says  string
	}{
		{text, levelFail, "not a cMPI pool"},
		{filepath.Join(dir, "none", "pool"), levelFail, "no such file"},
		{dir, levelFail, "a directory"},
		{"/dev/null", levelFail, "not a devdax"},
	} {
		t.Setenv("CMPI_POOL", tc.pool)
		found, failed := examine(t, "--lib", "/none")
		expect(t, found, "pool", tc.level, tc.says)
		if !failed || len(of(found, "exchange")) != 0 {
			t.Errorf("%s: failed %v, exchange %+v", tc.pool, failed, of(found, "exchange"))
		}
	}

	// One that is still to be made: tried beside, and left to be made.
	t.Setenv("CMPI_POOL", filepath.Join(dir, "new"))
	found, _ := examine(t, "--lib", "/none")
	expect(t, found, "library", levelFail, "no library")
	expect(t, found, "exchange", levelOK, "reach each other")
	if left, _ := filepath.Glob(filepath.Join(dir, "new*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}

	t.Setenv("CMPI_COHERENCE", "wet")
	found, failed := examine(t)
	expect(t, found, "settings", levelFail, "CMPI_COHERENCE=wet")
	if !failed {
		t.Error("wrong settings are no failure")
	}
}

// ranksLauncher is an mpiexec that starts its ranks here, whatever the host, but
// none on a host that is called "down".
func ranksLauncher(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mpiexec")
	script := `#!/bin/sh
case $1 in --version) echo HYDRA; exit;; esac
while :; do case $1 in
	-n) n=$2; shift 2;;
	-hosts) case $2 in *down*) echo "no route to down" >&2; exit 1;; esac; shift 2;;
	-ppn) shift 2;;
	-genv) shift 3;;
	*) break;;
esac; done
r=0; while [ $r -lt $n ]; do
	PMI_RANK=$r PMI_SIZE=$n CMPI_HOST=${DOMAIN:+$DOMAIN$r} "$@" & pids="$pids $!"
	r=$((r+1))
done
for p in $pids; do wait $p || status=1; done
exit ${status:-0}
`
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDoctorHosts(t *testing.T) {
	if flush.Caps().WriteBack == "" {
		t.Skip("this CPU or build has no cache instructions, so no mode for several hosts")
	}
	library, mpiexec := preloadable(t), ranksLauncher(t)
	args := []string{"--lib", library, "--mpiexec", mpiexec, "--hosts", "a,b,c"}
	found, _ := examine(t, args...)
	expect(t, found, "hosts", levelOK, "3 hosts with the same library, on one kernel")
	if n := len(of(found, "exchange")); n != 2 {
		t.Errorf("%d exchanges: %+v", n, of(found, "exchange"))
	}

	t.Setenv("DOMAIN", "x") // each is its own coherence domain
	found, failed := examine(t, args...)
	expect(t, found, "hosts", levelFail, "the hosts share no pool")
	if !failed {
		t.Error("hosts without a common pool are no failure")
	}
	t.Setenv("CMPI_POOL", newPool(t))
	found, _ = examine(t, args...)
	expect(t, found, "hosts", levelOK, "in 3 coherence domains, so mode flush")
	expect(t, found, "exchange", levelOK, "mode flush: hosts ")

	found, failed = examine(t, "--lib", library, "--mpiexec", mpiexec, "--hosts", "a,down")
	expect(t, found, "hosts", levelFail, "host down: nothing can be started there")
	if !failed || len(of(found, "hosts")) != 1 {
		t.Errorf("%+v", of(found, "hosts"))
	}
}

func TestCompareHosts(t *testing.T) {
	report := func(rank int, change func(*probeReport)) probeReport {
		r := probeReport{Report: probe.Report{Rank: rank, Host: fmt.Sprint("h", rank), Domain: fmt.Sprint("d", rank), PoolID: "p"}, Version: "1", Library: "l"}
		if change != nil {
			change(&r)
		}
		return r
	}
	for _, tc := range []struct {
		name   string
		change func(*probeReport)
		says   string // of a failure; empty: none
	}{
		{"same", nil, ""},
		{"version", func(r *probeReport) { r.Version = "2" }, "different libraries"},
		{"library", func(r *probeReport) { r.Library = "m" }, "different libraries"},
		{"no library", func(r *probeReport) { r.Library, r.LibraryError = "", "open /l: no" }, "host h1: open /l: no"},
		{"pool", func(r *probeReport) { r.PoolID = "q" }, "another one on host h1"},
		{"no pool", func(r *probeReport) { r.PoolID = "" }, ""},
	} {
		d := doctor{settings: settings.Settings{Pool: "/p"}}
		d.compareHosts([]probeReport{report(0, nil), report(1, tc.change)})
		if tc.says == "" {
			expect(t, d.found, "hosts", levelOK, "2 hosts")
		} else {
			expect(t, d.found, "hosts", levelFail, tc.says)
		}
	}
}

func TestCheckCPU(t *testing.T) {
	for _, tc := range []struct {
		name string
		f    flush.Features
		mode string
		want level
	}{
		{"new", flush.Features{Arch: "amd64", CLFLUSHOPT: true, WriteBack: "clwb"}, "flush", levelOK},
		{"old", flush.Features{Arch: "amd64", CLFLUSH: true, WriteBack: "clflush"}, "flush", levelWarn},
		{"none needed", flush.Features{Arch: "generic"}, "coherent", levelWarn},
		{"none", flush.Features{Arch: "generic"}, "", levelFail},
	} {
		d := doctor{job: decision{Mode: tc.mode}}
		d.checkCPU(tc.f)
		expect(t, d.found, "cpu", tc.want, "")
	}
}

func TestCheckHugePages(t *testing.T) {
	for setting, text := range map[string]string{
		"":                                       "the kernel has none",
		"always within_size advise [never] deny": "never for shared memory",
		"always [within_size] advise never":      "within_size for shared memory",
	} {
		d := doctor{root: t.TempDir()}
		if setting != "" {
			dir := filepath.Join(d.root, "sys/kernel/mm/transparent_hugepage")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "shmem_enabled"), []byte(setting+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d.checkHugePages()
		expect(t, d.found, "huge pages", levelOK, text)
	}
}

func TestCheckSingleCopy(t *testing.T) {
	d := doctor{root: t.TempDir(), settings: settings.Defaults()}
	dir := filepath.Join(d.root, "proc/sys/kernel/yama")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ptrace_scope"), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.checkSingleCopy("operation not permitted")
	expect(t, d.found, "single copy", levelWarn, "operation not permitted")
	if !strings.Contains(d.found[0].Remedy, "ptrace_scope=0 (it is 1)") {
		t.Errorf("%+v", d.found[0])
	}
	d.settings.SingleCopy = false
	d.checkSingleCopy("")
	expect(t, d.found, "single copy", levelOK, "turned off")
}

func TestCheckProgram(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]level{script: levelOK, "/none": levelFail, "sh": levelWarn} {
		d := doctor{program: program}
		d.checkProgram()
		expect(t, d.found, "program", want, "")
	}
}

func TestClosedTo(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := closedTo(file); got != file {
		t.Errorf("closed by %q", got)
	}
	os.Chmod(file, 0o644)
	os.Chmod(dir, 0o700)
	if got := closedTo(file); got != dir {
		t.Errorf("closed by %q", got)
	}
	if got := closedTo("/proc/version"); got != "" {
		t.Errorf("closed by %q", got)
	}
}

func TestDecide(t *testing.T) {
	slurm := map[string]string{"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2"}
	with := func(change func(*settings.Settings)) settings.Settings {
		s := settings.Defaults()
		change(&s)
		return s
	}
	for _, tc := range []struct {
		name string
		s    settings.Settings
		env  map[string]string
		mode string
		why  string
	}{
		{"here", settings.Defaults(), nil, "coherent", "this kernel"},
		{"told", with(func(s *settings.Settings) { s.Coherence = settings.CoherenceUncached }), nil, "uncached", "CMPI_COHERENCE"},
		{"a domain", with(func(s *settings.Settings) { s.Host = "h" }), nil, "coherent", "CMPI_HOST=h"},
		{"off", with(func(s *settings.Settings) { s.Disable = true }), nil, "", "CMPI_DISABLE"},
		{"nodes without a pool", settings.Defaults(), slurm, "", "no pool"},
		{"nodes", with(func(s *settings.Settings) { s.Pool = "/p" }), slurm, "flush", "2 nodes"},
	} {
		if tc.mode == "flush" && flush.Caps().WriteBack == "" {
			tc.mode, tc.why = "", "no cache instructions"
		}
		if d := decide(tc.s, func(n string) string { return tc.env[n] }); d.Mode != tc.mode || !strings.Contains(d.Why, tc.why) {
			t.Errorf("%s: %+v", tc.name, d)
		}
	}
}

// TestInfo: info has an answer on any machine.
func TestInfo(t *testing.T) {
	in := mustJSON[info](t, "info")
	if in.CPU.Arch == "" || len(in.Settings) == 0 || in.Pool.Kind == "" || in.Job.Why == "" || in.MPI == nil || in.Pool.Devices == nil {
		t.Errorf("%+v", in)
	}
	if text := must(t, "info"); !strings.Contains(text, "a job here") {
		t.Error(text)
	}
	if d := (deviceInfo{"dax0.0", "/dev/dax0.0", 2 << 30, 2 << 20, 0, 1}).String(); d != "/dev/dax0.0, 2 GiB, aligned to 2 MiB, near NUMA node 0, target node 1" {
		t.Error(d)
	}
}

// TestInfoSpace: a pool's free space is that of its own filesystem, not of the
// one where its name is.
func TestInfoSpace(t *testing.T) {
	pool := filepath.Join(t.TempDir(), "pool")
	missing := describePool(settings.Settings{Pool: pool})
	if missing.FreeBytes == 0 || missing.Problem == "" {
		t.Errorf("a missing pool: %+v", missing)
	}
	if err := os.Symlink("/proc/version", pool); err != nil { // a filesystem without space
		t.Fatal(err)
	}
	if p := describePool(settings.Settings{Pool: pool}); p.FreeBytes != 0 || p.Problem != "" {
		t.Errorf("linked from elsewhere: %+v", p)
	}
}

func TestABI(t *testing.T) {
	library := preloadable(t)
	if abi := abiOfLibrary(library); abi != abiOther {
		t.Errorf("%s has the ABI of %s", library, abi)
	}
	if abi := abiOfLibrary("/none"); abi != abiOther {
		t.Error(abi)
	}
	// Those that are installed are what their names say.
	for _, m := range mpiLibraries(t.Context()) {
		if want := sonames[filepath.Base(m.Path)]; want != m.ABI {
			t.Errorf("%s has the ABI of %s, not of %s", m.Path, m.ABI, want)
		}
	}
}

func TestMan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	must(t, "man", dir)
	for _, c := range append(rootCommand().Commands(), poolCommand().Commands()...) {
		if c.Hidden {
			continue
		}
		page := "cmpi-" + c.Name() + ".1"
		if slices.Contains([]string{"ls", "stat", "gc", "fsck", "rm", "evict", "init"}, c.Name()) {
			page = "cmpi-pool-" + c.Name() + ".1"
		}
		text, err := os.ReadFile(filepath.Join(dir, page))
		if err != nil || !strings.Contains(string(text), "SYNOPSIS") {
			t.Errorf("%s: %v", page, err)
		}
	}
}
