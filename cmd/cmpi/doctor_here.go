package main

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"cmpi/arena"
	"cmpi/cmd/cmpi/probe"
	"cmpi/flush"
	"cmpi/mpitransport"
	"cmpi/settings"
)

// checkSettings notes what is set; that it is understood is known.
func (d *doctor) checkSettings(environ []string) {
	var set []string
	for _, kv := range environ {
		if strings.HasPrefix(kv, settings.Prefix) && !strings.HasSuffix(kv, "=") {
			set = append(set, kv)
		}
	}
	switch {
	case d.settings.Disable:
		d.warn("settings", "unset it to use the library", "CMPI_DISABLE=1: the library does nothing")
	case len(set) == 0:
		d.ok("settings", "none given, so the defaults")
	default:
		d.ok("settings", "%s", strings.Join(set, " "))
	}
}

// checkCPU says what the modes make of the CPU.
func (d *doctor) checkCPU(f flush.Features) {
	switch {
	case f.WriteBack == "":
		l := d.warn
		if d.job.Mode == "" && !d.settings.Disable {
			l = d.fail
		}
		l("cpu", "use hosts on x86-64", "%s has no cache instructions here: mode coherent only, within one host", f.Arch)
	case f.Arch == "amd64" && !f.CLFLUSHOPT:
		d.warn("cpu", "expect mode flush to be slow, or use newer hosts", "only clflush, one line at a time: %s", f)
	default:
		d.ok("cpu", "%s", f)
	}
	if d.job.Mode != "" {
		d.ok("mode", "%s; %s", d.job.Mode, d.job.Why)
	} else if !d.settings.Disable {
		d.fail("mode", "see cmpi info", "none: %s", d.job.Why)
	}
}

// machines are the ELF names of the processors for which the library is built.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// checkLibrary sees whether the library can be preloaded by any user.
func (d *doctor) checkLibrary() {
	path, err := findLibrary(d.lib)
	if err != nil {
		d.failErr("library", err, "")
		return
	}
	f, err := elf.Open(path)
	if err != nil {
		d.fail("library", "build or install it again", "%s is no library: %v", path, err)
		return
	}
	defer f.Close()
	if want := machines[runtime.GOARCH]; f.Class != elf.ELFCLASS64 || f.Machine != want {
		d.fail("library", "build it on this kind of machine", "%s is for %v", path, f.Machine)
		return
	}
	symbols, _ := f.DynamicSymbols() // none: then MPI_Init isn't among them
	exports := false
	for _, s := range symbols {
		exports = exports || s.Name == "MPI_Init" && s.Section != elf.SHN_UNDEF
	}
	if !exports {
		d.fail("library", "give the right file with --lib", "%s has no MPI_Init", path)
		return
	}
	d.library = path
	if closed := closedTo(path); closed != "" {
		d.warn("library", "chmod o+rX "+closed+", or install the library elsewhere", "%s: other users can't read it, because of %s", path, closed)
		return
	}
	d.ok("library", "%s, readable by all", path)
}

// closedTo is the first part of a path that users other than its owner and group
// may not read or pass; empty: they reach it.
func closedTo(path string) string {
	for p, need := path, os.FileMode(0o004); ; need = 0o001 {
		if st, err := os.Stat(p); err != nil || st.Mode().Perm()&need == 0 {
			return p
		}
		dir := filepath.Dir(p)
		if dir == p {
			return ""
		}
		p = dir
	}
}

// checkMPI looks for a launcher and an MPI library that is carried.
func (d *doctor) checkMPI(ctx context.Context) {
	const install = "apt-get install mpich, or load your site's module"
	if l, err := d.find(); err != nil {
		d.failErr("launcher", err, "")
	} else if l.name == orte.name {
		d.warn("launcher", "use mpiexec.mpich, or name one by --mpiexec", "%s is Open MPI's, whose programs are not carried", l.path)
	} else {
		d.ok("launcher", "%s (%s)", l.path, l.name)
	}
	libraries := mpiLibraries(ctx)
	var others []string
	for _, m := range libraries {
		if m.Carried {
			d.ok("mpi", "%s has MPICH's ABI", m.Path)
			return
		}
		others = append(others, m.Path)
	}
	if len(others) > 0 {
		d.warn("mpi", install, "only %s, whose programs run on it alone", strings.Join(others, ", "))
		return
	}
	d.warn("mpi", install+"; or set LD_LIBRARY_PATH as for your jobs", "no MPI library where the dynamic linker looks")
}

// checkProgram sees whether the library would get into a program.
func (d *doctor) checkProgram() {
	path, err := exec.LookPath(d.program)
	if err != nil {
		d.fail("program", "give the path of a program", "%v", err)
		return
	}
	abi, static, err := abiOfProgram(path)
	switch {
	case err != nil:
		d.ok("program", "%s is not a program itself, perhaps a script", path)
		return
	case static:
		d.fail("program", "link it with the MPI library's shared objects", "%s is linked statically: nothing can be preloaded", path)
		return
	}
	if st, err := os.Stat(path); err == nil && st.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
		d.fail("program", "take its setuid and setgid bits away", "%s runs as another user: the dynamic linker refuses to preload into it", path)
		return
	}
	switch {
	case abi.carried():
		d.ok("program", "%s is linked with MPICH's ABI", path)
	case abi == abiOpenMPI:
		d.fail("program", "build it with MPICH's mpicc", "%s is linked with Open MPI, whose programs are not carried", path)
	default:
		d.warn("program", "see whether one of its libraries is", "%s itself is not linked with an MPI library", path)
	}
}

// Space in a filesystem for pools: with less than little a job does not start
// (1 MiB for each rank); comfortable is what some ranks take that talk much.
const (
	littleSpace      = 4 << 20
	comfortableSpace = 128 << 20
)

// checkPool looks at the pool of jobs.
func (d *doctor) checkPool() {
	if d.settings.Pool == "" {
		d.checkPoolFolder(defaultPoolDir, "")
		return
	}
	c, err := poolConfig(d.settings.Pool)
	if err != nil {
		return // the settings, which were said to be wrong
	}
	err = guarded(c.Path, func() error {
		a, err := arena.Open(c)
		if err != nil {
			return err
		}
		defer a.Close()
		return d.checkOpenPool(a)
	})
	switch {
	case errors.Is(err, arena.ErrMissing) && len(d.hosts) > 0:
		d.ok("pool", "%s is not on this machine; the hosts are asked", c.Path)
	case errors.Is(err, arena.ErrMissing):
		d.checkPoolFolder(filepath.Dir(c.Path), c.Path)
	case errors.Is(err, arena.ErrBlank):
		d.ok("pool", "%s is empty: the first job makes a pool of it", c.Path)
	case err != nil:
		d.failErr("pool", err, "")
	}
}

// checkPoolFolder looks at the place where jobs make pool files.
func (d *doctor) checkPoolFolder(dir, file string) {
	what := "each job makes its own file in " + dir
	if file != "" {
		what = "the first job makes " + file
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		d.fail("pool", "name a pool elsewhere by CMPI_POOL", "%s, but: %v", what, err)
		return
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		d.fail("pool", "let its owner grant access, or name a pool elsewhere by CMPI_POOL", "%s, but: %v", what, err)
		return
	}
	free := int64(fs.Bavail) * fs.Bsize
	text := fmt.Sprintf("%s, where %s are free", what, sizeText(free))
	const remedy = "free space there (containers: --shm-size), or name a pool elsewhere by CMPI_POOL"
	switch {
	case free < littleSpace:
		d.fail("pool", remedy, "%s", text)
	case free < comfortableSpace:
		d.warn("pool", remedy, "%s", text)
	case fs.Type != unix.TMPFS_MAGIC && fs.Type != unix.HUGETLBFS_MAGIC:
		d.warn("pool", "use a file in "+defaultPoolDir+" or a devdax device", "%s; but it is not in memory", text)
	default:
		d.ok("pool", "%s", text)
	}
}

// fewHosts is how many entries of the host table should be left.
const fewHosts = 4

// hostEntries is how many hosts a pool can know.
const hostEntries = 64

// checkOpenPool looks at a pool that could be opened.
func (d *doctor) checkOpenPool(a *arena.Arena) error {
	st, err := a.Stat()
	if err != nil {
		return err
	}
	kind := "file"
	if a.Device() {
		kind = "device"
	}
	text := fmt.Sprintf("%s: %s of %s, %s free, id %s", a.Path(), kind, sizeText(st.Size), sizeText(st.Free), arena.FormatID(a.ID()))
	switch {
	case st.Free < littleSpace:
		d.fail("pool", "end jobs, free what dead ones left (cmpi pool gc), or use a larger pool", "%s", text)
	case st.Free < comfortableSpace:
		d.warn("pool", "free what dead jobs left (cmpi pool gc), or use a larger pool", "%s", text)
	default:
		d.ok("pool", "%s", text)
	}
	if objects, err := a.List(); err == nil {
		garbage, held := mpitransport.Garbage(objects, false)
		if n := len(garbage) + len(held); n > 0 {
			d.warn("pool", "cmpi pool gc "+a.Path(), "%s of dead processes", plural(n, "object"))
		}
	}
	r, err := a.Inspect()
	if err != nil {
		return err
	}
	if len(r.Findings) > 0 && !r.Changing {
		d.fail("pool", "cmpi pool fsck "+a.Path(), "%s, the first: %s", plural(len(r.Findings), "finding"), r.Findings[0].Text)
	}
	if n := len(st.Hosts); n > hostEntries-fewHosts {
		d.warn("pool", "evict those that are gone (cmpi pool evict)", "%d of %d entries for hosts are taken", n, hostEntries)
	}
	if info, err := os.Stat(a.Path()); err == nil && info.Mode().Perm()&0o002 != 0 {
		d.warn("pool", "chmod o-w "+a.Path(), "every user may write to %s, and so disturb the jobs in it", a.Path())
	}
	return nil
}

// checkHugePages looks at whether memory of pools can be in large pages, which
// spares large windows and messages misses of the TLB.
func (d *doctor) checkHugePages() {
	const file = "/sys/kernel/mm/transparent_hugepage/shmem_enabled"
	text, err := os.ReadFile(d.root + file)
	if err != nil {
		d.ok("huge pages", "the kernel has none for shared memory")
		return
	}
	_, now, _ := strings.Cut(string(text), "[")
	now, _, _ = strings.Cut(now, "]")
	switch now {
	case "always", "within_size", "force":
		d.ok("huge pages", "%s for shared memory", now)
	default:
		// The default of kernels, and right for small jobs: no warning.
		d.note(levelOK, "huge pages", "echo within_size >"+file+" spares large windows in "+defaultPoolDir+" misses of the TLB", "%s for shared memory", now)
	}
}

// limit is a resource limit, and what it must allow.
type limit struct {
	name     string
	resource int
	least    uint64 // below: bad
	level    level
	why      string
}

// checkLimits looks at resource limits that keep a rank from working.
func (d *doctor) checkLimits() {
	size := uint64(d.settings.PoolSize)
	if st, err := os.Stat(d.settings.Pool); d.settings.Pool != "" && err == nil && st.Mode().IsRegular() {
		size = uint64(st.Size())
	}
	const (
		runtimeSpace = 2 << 30 // address space that the library takes beside the pool
		threads      = 32      // of a rank: the library's, the MPI library's and the program's
	)
	limits := []limit{
		{"address space (ulimit -v)", unix.RLIMIT_AS, size + runtimeSpace, levelFail, "the pool is mapped as a whole"},
		{"open files (ulimit -n)", unix.RLIMIT_NOFILE, 256, levelWarn, "MPI libraries open some for each rank"},
		{"processes (ulimit -u)", unix.RLIMIT_NPROC, uint64(threads * runtime.NumCPU()), levelWarn, fmt.Sprintf("a rank may have %d threads", threads)},
	}
	if d.settings.Pool == "" || size > 0 {
		limits = append(limits, limit{"file size (ulimit -f)", unix.RLIMIT_FSIZE, size, levelFail, "a pool file has its full length at once"})
	}
	if entries, _ := os.ReadDir(d.root + "/sys/class/infiniband"); len(entries) > 0 {
		limits = append(limits, limit{"locked memory (ulimit -l)", unix.RLIMIT_MEMLOCK, 64 << 20, levelWarn, "the MPI library underneath locks buffers for InfiniBand"})
	}
	good := true
	for _, l := range limits {
		var have unix.Rlimit
		if unix.Getrlimit(l.resource, &have) != nil || have.Cur >= l.least {
			continue
		}
		good = false
		d.note(l.level, "limits", "raise it in the shell that starts the job, or in /etc/security/limits.conf", "%s is %d, below %d: %s", l.name, have.Cur, l.least, l.why)
	}
	if good {
		d.ok("limits", "address space, file size, open files and processes suffice")
	}
}

// checkExchange lets two processes of this host reach each other through the
// pool, in the mode of a job here and in mode flush.
func (d *doctor) checkExchange(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("where is this command? %w", err)
	}
	modes := []string{d.job.Mode}
	if d.job.Mode == "" || d.job.Mode == string(settings.CoherenceEmulate) {
		modes = nil
	}
	if flush.Caps().WriteBack != "" && d.job.Mode != string(settings.CoherenceFlush) {
		modes = append(modes, string(settings.CoherenceFlush))
	}
	single := ""
	for _, mode := range modes {
		c := probe.Config{Token: newToken(), Size: 2, Timeout: probeTimeout}
		c.Pool.Path, c.Make = d.probePool(c.Token)
		reports, err := probeHere(ctx, self, c, d.library, mode)
		trip := d.noteTrips("exchange", mode, reports, err, map[int]string{})
		if c.Make {
			os.Remove(c.Pool.Path) // if a process died before it did
		}
		if trip != nil {
			single = trip.SingleCopy
		}
	}
	d.checkSingleCopy(single)
	return nil
}

// noteTrips notes what the processes of a probe have seen; the last exchange
// that worked is returned.
func (d *doctor) noteTrips(check, mode string, reports []probeReport, err error, names map[int]string) (good *probe.Trip) {
	remedy := ""
	if err != nil {
		if strings.Contains(err.Error(), "SIG") || strings.Contains(err.Error(), "fault") {
			remedy = "some emulated devices fault on vector instructions; try CMPI_NO_VECTOR=1"
		}
		d.failErr(check, fmt.Errorf("mode %s: %w", mode, err), remedy)
		return nil
	}
	said := map[string]bool{} // all of a host have the same to say
	for _, r := range reports {
		if text := names[r.Rank] + r.Error; r.Error != "" && !said[text] {
			said[text] = true
			if strings.Contains(text, arena.ErrMissing.Error()) || strings.Contains(text, arena.ErrBlank.Error()) {
				text, _, _ = strings.Cut(text, "; ")
				d.fail(check, "see whether the path is right there, or make it: cmpi pool init", "mode %s: %s", mode, text)
				continue
			}
			d.failErr(check, fmt.Errorf("mode %s: %s%s", mode, names[r.Rank], r.Error), "")
		}
	}
	for _, r := range reports {
		for _, t := range r.Trips {
			if t.Error != "" {
				d.fail(check, "see whether both have the same pool, and which mode its memory needs (cmpi info)", "mode %s: %s%s", mode, names[t.Peer], t.Error)
				continue
			}
			d.ok(check, "mode %s: %stwo processes reach each other through the pool, %.1f µs for a round trip", mode, names[t.Peer], t.Micro)
			good = &t
		}
	}
	return good
}

// checkSingleCopy notes whether the kernel copies between processes, which is
// the fastest way for large messages inside one host. result is what a probe
// has seen; empty: nothing.
func (d *doctor) checkSingleCopy(result string) {
	switch {
	case !d.settings.SingleCopy:
		d.ok("single copy", "turned off by CMPI_SINGLE_COPY=off")
	case result == "works":
		d.ok("single copy", "the kernel copies large messages from process to process")
	case result != "":
		remedy := "allow process_vm_readv: in containers --cap-add SYS_PTRACE, or a seccomp profile that has it"
		if scope, err := os.ReadFile(d.root + "/proc/sys/kernel/yama/ptrace_scope"); err == nil && strings.TrimSpace(string(scope)) != "0" {
			remedy = "sysctl kernel.yama.ptrace_scope=0 (it is " + strings.TrimSpace(string(scope)) + ")"
		}
		d.warn("single copy", remedy, "large messages inside a host go through the pool: the kernel doesn't copy between processes (%s)", result)
	}
}
