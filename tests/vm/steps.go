package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// step is one thing that is tried; the text says what was seen.
type step struct {
	name string
	run  func(context.Context, *lab) (string, error)
	// needed says that nothing after it makes sense when it fails.
	needed bool
}

// steps are all in their order.
func steps(only []string) []step {
	list := []step{
		{name: "boot", run: bootBoth, needed: true},
		{name: "device", run: makeDevice, needed: true},
		{name: "two kernels", run: twoKernels, needed: true},
		{name: "cmpi info", run: info},
		{name: "pool: metadata", run: fightForNames, needed: true},
		{name: "atomics are lost", run: loseAtomics},
		{name: "c: cxl_shm", run: passWord},
		{name: "c: cmpi_ring", run: example("cmpi_ring", "300")},
		{name: "c: cmpi_window", run: example("cmpi_window", "300")},
	}
	for _, p := range programs {
		if len(only) > 0 && !slices.Contains(only, p.name) {
			continue
		}
		for _, n := range p.ranks {
			list = append(list, step{name: p.title(n), run: p.step(n)})
		}
	}
	return append(list,
		step{name: "pool is sound", run: poolIsSound},
		step{name: "power cut of b", run: cutB},
		step{name: "b comes back", run: returnB, needed: true},
		step{name: "power cut of a", run: cutA},
	)
}

// binDir is where the programs of this folder are, from the root of the project, in
// which all commands of the guests run.
const binDir = "build/out/vm/bin"

// try takes one device through all steps.
func try(ctx context.Context, m machine, d device, o *options, r *report) error {
	l, err := newLab(m, d, r)
	if err != nil {
		return err
	}
	defer l.remove()
	log, err := os.Create(filepath.Join(l.out, "steps.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	r.log = log
	defer func() { r.log = nil }()
	r.say("%-7s %s, %d MiB; guests run %s under %s", d.name, d.what, poolMiB, m.kernel.version, "TCG")
	lost := ""
	for _, s := range steps(o.only) {
		if lost != "" {
			r.add(record{Device: d.name, Step: s.name, Outcome: skipped, Detail: "after a failure: " + lost})
			continue
		}
		start := time.Now()
		detail, err := s.run(ctx, l)
		if ctx.Err() != nil {
			r.add(record{Device: d.name, Step: s.name, Outcome: failed, Seconds: time.Since(start).Seconds(), Detail: interrupted(ctx)})
			lost = s.name
			continue
		}
		rec := record{Device: d.name, Step: s.name, Outcome: passed, Seconds: time.Since(start).Seconds(), Detail: detail}
		if err != nil {
			rec.Outcome, rec.Detail = failed, strings.ReplaceAll(err.Error(), "\n", " ")
			if s.needed {
				lost = s.name
			}
		}
		r.add(rec)
	}
	if o.keep {
		for _, g := range l.guests() {
			if g.qemu != nil {
				r.say("guest %s: ssh %s root@127.0.0.1", g.name, strings.Join(g.sshArgs(l.key), " "))
			}
		}
		r.say("Ctrl-C ends the guests")
		<-ctx.Done()
	}
	return nil
}

// interrupted says why the steps were cut short.
func interrupted(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "the time for everything is over (--timeout)"
	}
	return "interrupted"
}

// bootLimit is for both guests on two cores that have other things to do.
const bootLimit = 5 * time.Minute

func bootBoth(ctx context.Context, l *lab) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	if err := l.startGuests(ctx, l.a, l.b); err != nil {
		return "", err
	}
	var up []string
	for _, g := range l.guests() {
		line, err := g.upLine()
		if err != nil {
			return "", err
		}
		up = append(up, fmt.Sprintf("%s after %s s", g.name, line.seconds))
	}
	return strings.Join(up, ", "), nil
}

// makeDevice has a create the namespace; b, which looks at the device only then,
// finds it.
func makeDevice(ctx context.Context, l *lab) (string, error) {
	if _, err := l.output(ctx, l.a, l.device.setUp(l.m.kernel, true), bootLimit); err != nil {
		return "", err
	}
	if _, err := l.output(ctx, l.b, l.device.setUp(l.m.kernel, false), bootLimit); err != nil {
		return "", err
	}
	a, b, err := l.together(ctx, "cat "+sysfs+"/size "+sysfs+"/align", "cat "+sysfs+"/size "+sysfs+"/align", time.Minute)
	if err != nil {
		return "", err
	}
	if a != b {
		return "", fmt.Errorf("size and alignment are %q in a and %q in b", a, b)
	}
	f := strings.Fields(a)
	if len(f) != 2 {
		return "", fmt.Errorf("size and alignment are %q", a)
	}
	size, _ := strconv.Atoi(f[0])
	align, _ := strconv.Atoi(f[1])
	return fmt.Sprintf("%s in both: %d MiB, alignment %d MiB", dax, size>>20, align>>20), nil
}

// twoKernels makes sure that the set-up is what it says.
func twoKernels(ctx context.Context, l *lab) (string, error) {
	const ask = "cat /proc/sys/kernel/random/boot_id; uname -nr"
	a, b, err := l.together(ctx, ask, ask, time.Minute)
	if err != nil {
		return "", err
	}
	idA, nameA, _ := strings.Cut(a, "\n")
	idB, nameB, _ := strings.Cut(b, "\n")
	if idA == idB || strings.TrimSpace(nameA) == strings.TrimSpace(nameB) {
		return "", fmt.Errorf("both guests say %q", a)
	}
	return fmt.Sprintf("boot ids %.8s and %.8s", idA, idB), nil
}

var cpuLine = regexp.MustCompile(`(?m)^cpu\s+(.*)$`)

func info(ctx context.Context, l *lab) (string, error) {
	ask := "CMPI_POOL=" + dax + " build/out/cmpi info | sed '/^$/,$d'" // without the list of settings
	a, b, err := l.together(ctx, ask, ask, time.Minute)
	if err != nil {
		return "", err
	}
	for _, text := range []string{a, b} {
		if !strings.Contains(text, dax+" (device)") {
			return "", errors.New("it does not know the device")
		}
	}
	cpu := cpuLine.FindStringSubmatch(a)
	if cpu == nil {
		return "", errors.New("it says nothing of the processor")
	}
	return cpu[1], nil
}

// fightForNames formats the pool from a; then both guests create, open and destroy
// objects of the same names.
func fightForNames(ctx context.Context, l *lab) (string, error) {
	pool := binDir + "/pool"
	if _, err := l.output(ctx, l.a, pool+" check "+dax, time.Minute); err != nil {
		return "", err
	}
	use := pool + " use " + dax + " 10"
	a, b, err := l.together(ctx, use, use, 2*time.Minute)
	if err != nil {
		return "", err
	}
	if _, err := l.output(ctx, l.b, pool+" check "+dax, time.Minute); err != nil {
		return "", err
	}
	return fmt.Sprintf("a %s; b %s", strings.TrimSpace(a), strings.TrimSpace(b)), nil
}

// loseAtomics shows that the guests are as far apart as hosts on a CXL pool.
func loseAtomics(ctx context.Context, l *lab) (string, error) {
	const milliseconds = 2000
	run := func(side int) string {
		return fmt.Sprintf("CMPI_POOL=%s %s/atomics %d %d", dax, binDir, side, milliseconds)
	}
	a, b, err := l.together(ctx, run(0), run(1), 3*time.Minute)
	if err != nil {
		return "", err
	}
	var addsA, addsB, sumA, sumB int
	if _, err := fmt.Sscan(a, &addsA, &sumA); err != nil {
		return "", fmt.Errorf("a printed %q", a)
	}
	if _, err := fmt.Sscan(b, &addsB, &sumB); err != nil {
		return "", fmt.Errorf("b printed %q", b)
	}
	adds := addsA + addsB
	switch {
	case sumA != sumB:
		return "", fmt.Errorf("a sees %d, b %d", sumA, sumB)
	case sumA >= adds:
		return "", errors.New("none was lost: this set-up can't show that the library needs none")
	}
	return fmt.Sprintf("%d of %d fetch-and-adds", adds-sumA, adds), nil
}

func passWord(ctx context.Context, l *lab) (string, error) {
	const word = "hello from a"
	program := "CMPI_POOL=" + dax + " " + binDir + "/cxl_shm_example"
	_, b, err := l.together(ctx, program+" write "+quote(word), program+" read", time.Minute)
	if err != nil {
		return "", err
	}
	if b != word+"\n" {
		return "", fmt.Errorf("b read %q, not %q", b, word)
	}
	return "b read " + strconv.Quote(word), nil
}

// example runs a C example of cmpi.h as rank 0 in a and rank 1 in b.
func example(name, rounds string) func(context.Context, *lab) (string, error) {
	return func(ctx context.Context, l *lab) (string, error) {
		run := func(rank int) string {
			return fmt.Sprintf("CMPI_REQUIRE=1 %s/%s %d 2 %s %s", binDir, name, rank, dax, rounds)
		}
		a, _, err := l.together(ctx, run(0), run(1), 2*time.Minute)
		return strings.TrimSpace(a), err
	}
}

// program is one of tests/programs.
type program struct {
	name    string
	args    string
	ranks   []int
	setting string // one more of the library's, as NAME=value
}

// title is the name and what is special.
func (p program) title(ranks int) string {
	t := fmt.Sprintf("mpi: %s, %d ranks", p.name, ranks)
	if p.setting != "" {
		t += ", " + p.setting
	}
	return t
}

// programs are those that are run, made smaller where an emulated processor would
// take long: ring, halo, master and worker, random traffic, long messages, and all of
// one-sided communication. With four ranks each guest has two.
var programs = []program{
	{name: "ring", args: "laps=1", ranks: []int{2, 4}},
	{name: "halo", args: "steps=4", ranks: []int{2}},
	{name: "masterworker", args: "tasks=200", ranks: []int{2}},
	{name: "traffic", args: "rounds=4 bytes=400000 volume=1000000", ranks: []int{2, 4}},
	{name: "large", args: "bytes=4000000", ranks: []int{2}},
	{name: "requests", args: "rounds=3", ranks: []int{2}},
	{name: "datatypes", args: "types=30 longest=100000", ranks: []int{2}},
	{name: "communicators", ranks: []int{2}},
	{name: "threads", args: "rounds=10", ranks: []int{2}},
	{name: "fortran_f08", ranks: []int{2}},
	{name: "rma_halo", args: "steps=4", ranks: []int{2, 4}},
	{name: "rma_hash", args: "inserts=200", ranks: []int{2, 4}},
	{name: "rma_counter", args: "tickets=600", ranks: []int{2}},
	{name: "rma_queue", args: "tasks=6", ranks: []int{2}},
	{name: "rma_types", ranks: []int{2}},
	{name: "rma_ops", ranks: []int{2}},
	{name: "rma_shared", args: "rounds=5", ranks: []int{2}},
	{name: "rma_errors", ranks: []int{2}},
	{name: "rma_windows", args: "windows=3 bytes=100000", ranks: []int{2}},
	{name: "rma_fortran", ranks: []int{2}},
	{name: "traffic", args: "rounds=4 bytes=400000 volume=1000000", ranks: []int{2}, setting: "CMPI_NO_VECTOR=1"},
	{name: "traffic", args: "rounds=4 bytes=400000 volume=1000000", ranks: []int{2}, setting: "CMPI_RING=paper"},
	{name: "rma_types", ranks: []int{2}, setting: "CMPI_NO_VECTOR=1"},
}

func checkPrograms(only []string) error {
	for _, name := range only {
		if !slices.ContainsFunc(programs, func(p program) bool { return p.name == name }) {
			var all []string
			for _, p := range programs {
				all = append(all, p.name)
			}
			return fmt.Errorf("--only %s: there are %s", name, strings.Join(all, ", "))
		}
	}
	return nil
}

// jobLimit is for one MPI job. mpiexec ends it; the second limit is for mpiexec.
const (
	jobLimit = 5 * time.Minute
	jobGrace = 20 * time.Second
)

// mpiexec is the command line of a job across both guests, for a shell of guest a.
func mpiexec(ranks int, program, setting string) string {
	preload := "$PWD/build/out/libcmpi.so"
	if ranks > 2 {
		preload = "$PWD/" + binDir + "/finalize.so:" + preload
	}
	if name, value, ok := strings.Cut(setting, "="); ok {
		setting = "-genv " + name + " " + value + " "
	}
	// The second network card is the one between the guests.
	return fmt.Sprintf("MPIEXEC_TIMEOUT=%d mpiexec.mpich -launcher ssh -iface eth1 -hosts a,b -genv UCX_NET_DEVICES eth1"+
		" -genv LD_PRELOAD %s -genv CMPI_POOL %s -genv CMPI_REQUIRE 1 -genv CMPI_VERBOSE 1 %s-n %d $PWD/build/out/programs/%s",
		int(jobLimit.Seconds()), preload, dax, setting, ranks, program)
}

func (p program) step(ranks int) func(context.Context, *lab) (string, error) {
	return func(ctx context.Context, l *lab) (string, error) {
		r := l.run(ctx, l.a, mpiexec(ranks, strings.TrimSpace(p.name+" "+p.args), p.setting), jobLimit+jobGrace)
		if err := r.ok(); err != nil {
			return "", err
		}
		carried := regexp.MustCompile(fmt.Sprintf(`^cmpi: %d ranks over %s \(\d+ MiB\), flush mode\n$`, ranks, dax))
		if r.stdout != "OK "+p.name+"\n" || !carried.MatchString(r.stderr) {
			return "", fmt.Errorf("it printed %q and %q", r.stdout, r.stderr)
		}
		return strings.TrimSpace(r.stderr), nil
	}
}

// poolIsSound checks the metadata, and that no job has left anything.
func poolIsSound(ctx context.Context, l *lab) (string, error) {
	check := binDir + "/pool" + " check " + dax
	a, b, err := l.together(ctx, check, check, time.Minute)
	if err != nil {
		return "", err
	}
	const clean = "0 objects, 0 problems\n"
	if a != clean || b != clean {
		return "", fmt.Errorf("a says %q, b %q", a, b)
	}
	return "0 objects, 0 problems, seen from both", nil
}

// survivorLimit is how long the rest of a job may go on when one host is gone: the
// default of CMPI_DEAD_AFTER is 8 s, and emulated machines may be slow to notice.
const survivorLimit = time.Minute

func cutB(ctx context.Context, l *lab) (string, error) { return powerCut(ctx, l, l.b, l.a) }
func cutA(ctx context.Context, l *lab) (string, error) { return powerCut(ctx, l, l.a, l.b) }

// powerCut starts a job that would go on for long, kills one guest as a power cut
// does, and sees how long the rank in the other one goes on.
func powerCut(ctx context.Context, l *lab, dies, survives *guest) (string, error) {
	const out = "/run/job.out"
	job := mpiexec(2, "traffic rounds=1000000 bytes=400000 volume=1000000", "")
	start := fmt.Sprintf("rm -f %s; %s </dev/null >%s 2>&1 &", out, job, out)
	if _, err := l.output(ctx, l.a, start, time.Minute); err != nil {
		return "", err
	}
	started := fmt.Sprintf("timeout 120 sh -c 'until grep -q \"flush mode\" %s; do sleep 1; done' || { cat %s; exit 1; }", out, out)
	if _, err := l.output(ctx, l.a, started, 3*time.Minute); err != nil {
		return "", fmt.Errorf("the job did not start: %w", err)
	}
	if _, err := l.output(ctx, survives, "sleep 5; pidof traffic", time.Minute); err != nil {
		return "", fmt.Errorf("no rank runs: %w", err)
	}
	dies.kill()
	cut := time.Now()
	l.report.logf("           guest %s is cut off\n", dies.name)
	// A shell of its own, so that timeout ends the loop and not only what runs in it.
	wait := fmt.Sprintf("timeout %d sh -c 'while pidof traffic >/dev/null; do sleep 1; done'", int(survivorLimit.Seconds()))
	ended := l.run(ctx, survives, wait, 2*survivorLimit)
	took := time.Since(cut)
	said := ""
	if survives == l.a {
		said = lastLine([]byte(l.run(ctx, survives, "cat "+out, time.Minute).stdout))
	}
	// Whatever is left must not disturb what comes next.
	l.run(ctx, survives, "killall -q -9 mpiexec.mpich mpiexec.hydra traffic; sleep 1; true", time.Minute)
	if ended.err != nil {
		return "", ended.err
	}
	if ended.code != 0 {
		return "", fmt.Errorf("the rank in %s still runs after %v", survives.name, survivorLimit)
	}
	return strings.TrimSuffix(fmt.Sprintf("the rank in %s ended after %.0f s; %s", survives.name, took.Seconds(), said), "; "), nil
}

// returnB boots b once more, which then is a host with a new boot id. The old one is
// evicted, with what its rank had in the pool, and a job runs on the pool that the
// power cut has left.
func returnB(ctx context.Context, l *lab) (string, error) {
	old, err := l.b.upLine()
	if err != nil {
		return "", err
	}
	up, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	if err := l.startGuests(up, l.b); err != nil {
		return "", err
	}
	if _, err := l.output(ctx, l.b, l.device.setUp(l.m.kernel, false), bootLimit); err != nil {
		return "", err
	}
	evicted, err := l.output(ctx, l.b, fmt.Sprintf("%s/pool evict %s %s", binDir, dax, old.bootID), time.Minute)
	if err != nil {
		return "", err
	}
	if _, err := programs[0].step(2)(ctx, l); err != nil {
		return "", err
	}
	if _, err := poolIsSound(ctx, l); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s; %s ran, pool sound", strings.TrimSpace(evicted), programs[0].name), nil
}
