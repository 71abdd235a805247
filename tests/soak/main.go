// Command soak keeps a pool busy for a long time, with jobs that come, go and
// are killed, and sees that nothing fails, grows or stays behind:
//
//	go run ./tests/soak [-for 30m] [-seed N] [-json FILE]
//	go run ./tests/soak -judge FILE # what -json has written
//
// One long job of four ranks, as two hosts in mode flush, makes rounds of
// everything that the library carries and verifies every byte (src/soak.c). Beside
// it, on the same pool, short jobs run one after another all the time: random
// programs in random modes with two to four ranks on one host or two. About half
// of them are killed by SIGKILL at a random moment: a rank, a host, or the
// launcher. After each,
//
//   - the job must have ended within a limit, and well if nobody killed it,
//   - a collection must leave nothing of it in the pool,
//   - cmpi's check must find the pool sound,
//   - a bystander, who owns an object with a pattern, must not have lost a byte.
//
// About every ten seconds, when no short job is there and the long job rests
// between two rounds, its memory, threads and open files are looked up, what the
// pool holds, and what is left in /dev/shm and of temporary files. In the end the
// last fifth of the samples is compared with the second one; the first is for
// warming up. Memory may grow by a little (judge.go says how much and why), open
// files not at all.
//
// Fails with the seed of the job. Root is not needed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"cmpi/arena"
	"cmpi/mpitransport"
	"cmpi/tests/remains"
)

// config is what the command line says.
type config struct {
	For      time.Duration
	Every    time.Duration // between two samples
	Rest     time.Duration // of the long job after each round
	Seed     uint64
	Pool     string
	Library  string
	Programs string // folder of tests/programs' programs; the long job's is beside it
	JSON     string // file for the samples; none if empty
	Leak     int    // KiB
	Stats    bool
}

func main() {
	c := config{}
	flag.DurationVar(&c.For, "for", 30*time.Minute, "how long")
	flag.DurationVar(&c.Every, "every", 10*time.Second, "time between two samples")
	flag.DurationVar(&c.Rest, "rest", 300*time.Millisecond, "rest of the long job after each round, in which it gives back what it needs no longer")
	flag.Uint64Var(&c.Seed, "seed", uint64(time.Now().UnixNano()), "of the long job and the first short one; the next one has the next")
	flag.StringVar(&c.Pool, "pool", fmt.Sprintf("/dev/shm/soak-%d", os.Getpid()), "the pool file; removed first and at the end")
	flag.StringVar(&c.Library, "library", "build/out/libcmpi.so", "the library")
	flag.StringVar(&c.Programs, "programs", "build/out/programs", "folder of the short jobs' programs (tests/programs/build.sh)")
	flag.StringVar(&c.JSON, "json", "", "write all samples and the verdict to this file")
	flag.IntVar(&c.Leak, "leak", 0, "KiB that each rank of the long job loses in every round, to see that it is noticed")
	flag.BoolVar(&c.Stats, "stats", false, "count the long job's messages by protocol (CMPI_STATS=1)")
	again := flag.String("judge", "", "run nothing, judge the samples in this file")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "soak: %q is no option\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	var err error
	if *again != "" {
		err = judgeAgain(*again)
	} else if err = run(ctx, c); err != nil {
		err = fmt.Errorf("%w (-seed %d)", err, c.Seed)
	}
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "soak: %v\n", err)
		fmt.Println("0 passed, 1 failed")
		os.Exit(1)
	}
	fmt.Println("1 passed, 0 failed")
}

// poolSize is room for the long job, a short one, and what a killed one left.
const poolSize = 512 << 20

// soak is a run.
type soak struct {
	config
	tmp     string // folder for temporary files of all jobs
	started time.Time
	by      *remains.Bystander
	long    *long
	job     string // the long job's name in the pool
	files   files
	counts  counts
	record  record
}

// counts is what happened so far.
type counts struct {
	Jobs    int            `json:"jobs"`
	Killed  map[string]int `json:"killed"` // by victim
	Modes   map[string]int `json:"modes"`
	Slowest time.Duration  `json:"slowest_end"` // the longest that a job took to end after a kill, ns
	Looking time.Duration  `json:"looking"`     // the longest that clearing up after a job took, ns
}

// record is the file for programs.
type record struct {
	Seed    uint64        `json:"seed"`
	For     time.Duration `json:"for"` // ns
	Counts  *counts       `json:"counts"`
	Samples []sample      `json:"samples"`
	Verdict []finding     `json:"verdict"`
	Error   string        `json:"error,omitempty"` // of the run; the verdict speaks for itself
}

func run(ctx context.Context, c config) (err error) {
	s := &soak{config: c, counts: counts{Killed: map[string]int{}, Modes: map[string]int{}}}
	if err := s.prepare(); err != nil {
		return err
	}
	defer os.RemoveAll(s.tmp)
	defer os.Remove(s.Pool)
	s.record = record{Seed: c.Seed, For: c.For, Counts: &s.counts}
	if c.JSON != "" {
		defer func() { err = errors.Join(err, s.write()) }()
	}
	fmt.Printf("seed %d, %v\n", c.Seed, c.For)
	os.Remove(s.Pool)
	if s.by, err = remains.NewBystander(s.Pool, poolSize); err != nil {
		return err
	}
	defer s.by.Close()
	s.files = newFiles(s.Pool, s.tmp)
	defer s.files.tidy()
	if s.long, err = startLong(&s.config, s.tmp); err != nil {
		return err
	}
	defer s.long.kill()
	if err := s.learnJob(ctx); err != nil {
		return err
	}
	s.started = time.Now()
	if err := s.soak(ctx); err != nil {
		s.record.Error = err.Error()
		return err
	}
	ended := s.end()
	if ended != nil {
		s.record.Error = ended.Error()
	}
	s.record.Verdict = judge(s.record.Samples, c.For)
	s.record.show(os.Stdout)
	return errors.Join(ended, failures(s.record.Verdict))
}

// prepare finds what is needed, and builds the long job's program.
func (s *soak) prepare() (err error) {
	if _, err := exec.LookPath("mpiexec.mpich"); err != nil {
		return fmt.Errorf("MPICH is missing (build/setup): %w", err)
	}
	for _, file := range []*string{&s.Library, &s.Programs} {
		if *file, err = filepath.Abs(*file); err != nil {
			return err
		}
	}
	for _, file := range []string{s.Library, filepath.Join(s.Programs, "traffic")} {
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("build first (make lib; tests/programs/build.sh): %w", err)
		}
	}
	if s.For <= 0 || s.Every <= 0 || s.Rest < 0 || s.Leak < 0 {
		return errors.New("-for and -every must be positive, -rest and -leak not negative")
	}
	s.Every = min(s.Every, s.For/20) // some samples in each fifth
	if s.tmp, err = os.MkdirTemp("", "soak-"); err != nil {
		return err
	}
	return nil
}

// learnJob waits for the long job's first round and learns its name.
func (s *soak) learnJob(ctx context.Context) error {
	release, err := s.long.rest(ctx)
	if err != nil {
		return err
	}
	defer release()
	objects, err := s.by.Arena().List()
	if err != nil {
		return err
	}
	jobs := mpitransport.Jobs(objects)
	if len(jobs) != 1 {
		return fmt.Errorf("the pool holds %d jobs, not the long job alone", len(jobs))
	}
	s.job = jobs[0].Name
	return nil
}

// soak runs short jobs until the time is over, and there is enough to judge.
func (s *soak) soak(ctx context.Context) error {
	due := s.started
	for i := uint64(0); time.Since(s.started) < s.For || len(s.record.Samples) < leastSamples; i++ {
		if err := s.beside(ctx, rand.New(rand.NewPCG(s.Seed+i, 0))); err != nil {
			return fmt.Errorf("short job %d (-seed %d begins with it): %w", i, s.Seed+i, err)
		}
		if time.Now().Before(due) {
			continue
		}
		due = time.Now().Add(s.Every)
		if err := s.sample(ctx); err != nil {
			return err
		}
		s.progress()
	}
	return nil
}

// beside runs one short job and looks at what it leaves.
func (s *soak) beside(ctx context.Context, r *rand.Rand) error {
	if err := ctx.Err(); err != nil {
		return errors.New("interrupted")
	}
	j := drawShort(r)
	if err := s.runShort(j); err != nil {
		return fmt.Errorf("%v: %w", j, err)
	}
	start := time.Now()
	if err := remains.Clear(s.Pool, hostNames, s.stays, endLimit); err != nil {
		return fmt.Errorf("after %v: %w", j, err)
	}
	s.counts.Looking = max(s.counts.Looking, time.Since(start))
	if err := s.by.Look(); err != nil {
		return fmt.Errorf("after %v: %w", j, err)
	}
	if j.victim != "" {
		s.files.tidy()
	}
	if err := s.long.failed(); err != nil {
		return fmt.Errorf("with %v: %w", j, err)
	}
	return nil
}

// stays says whether an object is there when no short job is.
func (s *soak) stays(o arena.Info) bool {
	if o.Name == remains.BystanderName {
		return true
	}
	job, ok := mpitransport.JobOfObject(o.Name)
	return ok && job == s.job
}

// end ends the long job, and finds that no job left anything.
func (s *soak) end() error {
	if err := s.long.end(s.Stats); err != nil {
		return err
	}
	// A job that is killed while it starts may leave a file in /dev/shm, which the
	// next one on that host takes away.
	if err := s.runShort(&short{program: []string{"ring"}, mode: "flush", ranks: [2]int{2, 2}}); err != nil {
		return fmt.Errorf("the last job: %w", err)
	}
	stays := func(o arena.Info) bool { return o.Name == remains.BystanderName }
	if err := remains.Clear(s.Pool, hostNames, stays, endLimit); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	if shm, tmp := s.files.left(); len(shm)+len(tmp) > 0 {
		return fmt.Errorf("files are left: %v %v", shm, tmp)
	}
	return nil
}

// progress prints the last sample.
func (s *soak) progress() {
	last := s.record.Samples[len(s.record.Samples)-1]
	killed := 0
	for _, n := range s.counts.Killed {
		killed += n
	}
	memory := int64(0)
	for _, r := range last.Ranks {
		memory += r.RSS
	}
	fmt.Printf("%6.0f s  %d rounds; memory of the ranks %.1f MiB; pool %.1f MiB in %d objects; %d short jobs, %d killed\n",
		last.Seconds, last.Rounds, mib(memory), mib(last.Pool.Used), last.Pool.Objects, s.counts.Jobs, killed)
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// judgeAgain judges a record.
func judgeAgain(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	r := record{Counts: &counts{}}
	if err := json.Unmarshal(b, &r); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(r.Samples) < leastSamples {
		return fmt.Errorf("%s: %d samples are too few; %d are needed", file, len(r.Samples), leastSamples)
	}
	r.Verdict = judge(r.Samples, r.For)
	r.show(os.Stdout)
	if r.Error != "" {
		return errors.New(r.Error)
	}
	return failures(r.Verdict)
}

// write writes the record.
func (s *soak) write() error {
	b, err := json.MarshalIndent(s.record, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(s.JSON, append(b, '\n'), 0o644)
}
