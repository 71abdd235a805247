package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// suite is MPICH's test suite on disk:
//
//	root/apt     what was fetched
//	root/src     test/mpi of the source, its configure changed by one condition
//	root/build   configured out of tree against the installed MPICH
//	root/logs    what the steps printed
//	root/lock    held while something is built
//
// Only the support libraries are built in advance. A directory's Makefile and
// the programs are made when a test asks for them: all of them together take ten
// times as long as a quick selection needs.
type suite struct {
	root     string
	version  string    // of the source package; "" if the suite was given
	progress io.Writer // one line per step
}

// openSuite readies the suite of the installed MPICH below the folder work,
// doing what has not been done before, or takes the one already configured in
// the folder given. The error wraps errUnavailable if the suite can't be had.
func openSuite(ctx context.Context, work, given string, progress io.Writer) (*suite, error) {
	for _, tool := range []string{"mpicc.mpich", "mpiexec.mpich", "mpif90.mpich", "make", "tar", "xz"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%w: %w (build/setup installs it)", errUnavailable, err)
		}
	}
	if given != "" {
		root, err := filepath.Abs(given)
		if err != nil {
			return nil, err
		}
		s := &suite{root: root, progress: progress}
		if _, err := os.Stat(s.build("config.status")); err != nil {
			return nil, fmt.Errorf("no configured suite: %w", err)
		}
		return s, nil
	}
	name, version, err := sourcePackage(ctx)
	if err != nil {
		return nil, err
	}
	root, err := filepath.Abs(filepath.Join(work, version))
	if err != nil {
		return nil, err
	}
	s := &suite{root: root, version: version, progress: progress}
	unlock, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := s.unpack(ctx, name); err != nil {
		return nil, err
	}
	return s, s.configure(ctx)
}

// src and build are paths inside the suite.
func (s *suite) src(elem ...string) string {
	return filepath.Join(append([]string{s.root, "src"}, elem...)...)
}

func (s *suite) build(elem ...string) string {
	return filepath.Join(append([]string{s.root, "build"}, elem...)...)
}

// lock keeps two processes from building at once.
func (s *suite) lock() (unlock func(), err error) {
	if err := os.MkdirAll(s.root, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(s.root, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
	}
	return func() { f.Close() }, nil // closing it unlocks it
}

// unpack makes root/src.
func (s *suite) unpack(ctx context.Context, name string) error {
	if _, err := os.Stat(s.src("configure")); err == nil {
		return nil
	}
	archive, err := s.fetchSource(ctx, filepath.Join(s.root, "apt"), name, s.version)
	if err != nil {
		return err
	}
	aside := s.src() + ".new"
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	if err := os.MkdirAll(aside, 0o755); err != nil {
		return err
	}
	// tar keeps the time stamps, so that make sees no reason to run autotools.
	if err := s.step(ctx, step{name: "unpack", what: "unpacking the suite", dir: s.root,
		argv: []string{"tar", "-x", "-f", archive, "-C", aside, "--no-same-owner", "--strip-components=3",
			"--wildcards", "--no-wildcards-match-slash", "*/test/mpi"}}); err != nil {
		return err
	}
	if err := allowF08(filepath.Join(aside, "configure")); err != nil {
		return err
	}
	return os.Rename(aside, s.src())
}

// f08Condition keeps the f08 tests for builds inside MPICH's own. They run as
// well against an installed one.
const f08Condition = ` -a "$FROM_MPICH" = "yes" ; then
   f08dir=f08`

// allowF08 drops that condition and keeps the file's time stamp.
func allowF08(configure string) error {
	info, err := os.Stat(configure)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(configure)
	if err != nil {
		return err
	}
	changed := strings.Replace(string(text), f08Condition, " ; then\n   f08dir=f08", 1)
	if err := os.WriteFile(configure, []byte(changed), info.Mode()); err != nil {
		return err
	}
	return os.Chtimes(configure, info.ModTime(), info.ModTime())
}

// configure makes root/build with the support libraries.
func (s *suite) configure(ctx context.Context) error {
	done := s.build(".ready")
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	if err := os.RemoveAll(s.build()); err != nil {
		return err
	}
	if err := os.MkdirAll(s.build(), 0o755); err != nil {
		return err
	}
	wrapper, err := exec.LookPath("mpicc.mpich")
	if err != nil {
		return err
	}
	prefix := filepath.Dir(filepath.Dir(wrapper))
	jobs := "-j" + strconv.Itoa(runtime.NumCPU())
	steps := []step{
		// No files yet: there are hundreds, and most tests need a handful. The
		// threads directories are left out unless threads are asked for. C++ is not
		// carried; lists of collective algorithms would need Python.
		{name: "configure", what: "configuring the suite", dir: s.build(), argv: []string{s.src("configure"), "--no-create",
			"--with-mpi=" + prefix, "--program-suffix=.mpich", "--enable-fortran=all", "--disable-cxx",
			"--disable-collalgo-tests", "--enable-threads=multiple", "--with-device=ch4:ucx"}},
		{name: "config.status", what: "configuring its support libraries", dir: s.build(),
			argv: []string{"./config.status", "include/mpitestconf.h", "util/Makefile", "libtool", "depfiles"}},
		{name: "util", what: "building the support libraries", dir: s.build("util"), argv: []string{"make", jobs}},
		{name: "dtpools", what: "building the datatype pools", dir: s.build("dtpools"), argv: []string{"make", jobs}},
	}
	for _, st := range steps {
		if err := s.step(ctx, st); err != nil {
			return err
		}
	}
	if err := s.generateTests(ctx); err != nil {
		return err
	}
	return os.WriteFile(done, nil, 0o644)
}

// generateTests makes the second testlists that some directories have: many
// datatypes and counts, with fixed seeds, for programs on the datatype pools.
func (s *suite) generateTests(ctx context.Context) error {
	config, err := os.ReadFile(s.src("maint/dtp-test-config.txt"))
	if errors.Is(err, os.ErrNotExist) {
		return nil // not every version has them
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(config)) {
		program, _, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		// The generator expects the directories of a build with all Makefiles.
		if err := os.MkdirAll(s.build(filepath.Dir(program)), 0o755); err != nil {
			return err
		}
	}
	return s.step(ctx, step{name: "gentests", what: "listing tests of datatypes", dir: s.build(), argv: []string{"./config.status", "gentests"}})
}

// tests reads the testlists of a directory; ours if the suite has none (basic).
func (s *suite) tests(ctx context.Context, dir string) ([]Test, error) {
	if err := s.ready(ctx, dir); err != nil {
		return nil, err
	}
	var text strings.Builder
	for _, names := range [][]string{
		// A list is configured, or stands in the source as it is.
		{s.build(dir, "testlist"), s.src(dir, "testlist")},
		{s.build(dir, "testlist.dtp")},
	} {
		for _, path := range names {
			some, err := os.ReadFile(path)
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			text.Write(some)
			text.WriteByte('\n')
			break
		}
	}
	if dir == basicDir {
		text.WriteString(basicList)
	}
	if text.Len() == 0 {
		return nil, fmt.Errorf("%s has no testlist", dir)
	}
	return parseTestlist(strings.NewReader(text.String()), dir)
}

// configFiles is the line of config.status that names all files it can make.
var configFiles = regexp.MustCompile(`(?m)^config_files="(.*)"$`)

// ready makes the Makefile of a directory and what else is configured there.
func (s *suite) ready(ctx context.Context, dir string) error {
	if _, err := os.Stat(s.build(dir, "Makefile")); err == nil {
		return nil
	}
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	text, err := os.ReadFile(s.build("config.status"))
	if err != nil {
		return err
	}
	argv := []string{"./config.status"}
	if m := configFiles.FindSubmatch(text); m != nil {
		for _, f := range strings.Fields(string(m[1])) {
			if filepath.Dir(f) == dir {
				argv = append(argv, f)
			}
		}
	}
	if len(argv) == 1 {
		return fmt.Errorf("the suite has no directory %s", dir)
	}
	return s.step(ctx, step{name: "ready " + dir, what: "configuring " + dir, dir: s.build(), argv: append(argv, "depfiles")})
}

// make builds the programs of tests, all of one directory. A program that can't
// be built is no error here: its tests fail, and log says where to look.
func (s *suite) make(ctx context.Context, tests []Test) error {
	var missing []string
	seen := map[string]bool{}
	for _, t := range tests {
		if !seen[t.Program] && !s.has(t) {
			missing = append(missing, t.Program)
		}
		seen[t.Program] = true
	}
	if len(missing) == 0 {
		return nil
	}
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	dir := tests[0].Dir
	argv := append([]string{"make", "-k", "-j" + strconv.Itoa(runtime.NumCPU())}, missing...)
	err = s.step(ctx, step{name: "make " + dir, what: fmt.Sprintf("building %d programs of %s", len(missing), dir), dir: s.build(dir), argv: argv})
	if ctx.Err() == nil && errors.As(err, new(*exec.ExitError)) {
		return nil
	}
	return err
}

// has says whether a test's program is built.
func (s *suite) has(t Test) bool {
	info, err := os.Stat(s.build(t.Dir, t.Program))
	return err == nil && info.Mode().IsRegular()
}

// step is a command that prepares something.
type step struct {
	name string // of its log
	what string // for people
	dir  string
	env  []string // nil: ours
	argv []string
}

// stepLimit ends a step that hangs; the slowest, configure, takes two minutes.
const stepLimit = 15 * time.Minute

// log is the file that a step's output goes to.
func (s *suite) log(name string) string {
	return filepath.Join(s.root, "logs", strings.NewReplacer("/", "-", " ", "-").Replace(name)+".log")
}

// step runs a command with its output in a log. The error of a command that
// fails wraps its exec.ExitError and shows the log's end.
func (s *suite) step(ctx context.Context, st step) error {
	fmt.Fprintln(s.progress, "mpich:", st.what)
	log := s.log(st.name)
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return err
	}
	out, err := os.Create(log)
	if err != nil {
		return err
	}
	defer out.Close()
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, st.argv[0], st.argv[1:]...)
	cmd.Dir, cmd.Env = st.dir, st.env
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = killDelay
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(log) // if it can't be read, there is less to show
		return fmt.Errorf("%s: %s: %w\n%s(all of it in %s)", st.what, strings.Join(st.argv[:min(2, len(st.argv))], " "), err,
			indent(lastLines(string(text), 8)), log)
	}
	return nil
}
