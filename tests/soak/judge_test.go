package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestJudge lets one thing grow at a time in half an hour of samples.
func TestJudge(t *testing.T) {
	const ranks = 2
	for _, test := range []struct {
		name string
		grow func(s *sample, part float64) // part of the time that is over
		bad  []string
	}{
		{"nothing", func(*sample, float64) {}, nil},
		{"memory in the first fifth", func(s *sample, part float64) {
			s.Ranks[1].Anon += int64(min(part, 0.2) * (100 << 20))
		}, nil},
		{"memory of a rank by 4 MiB", func(s *sample, part float64) { s.Ranks[1].Anon += int64(part * (4 << 20)) },
			[]string{"rank 1 on host b, memory"}},
		{"memory that a rank shares by 20 MiB", func(s *sample, part float64) { s.Ranks[0].Shmem += int64(part * (20 << 20)) },
			[]string{"rank 0 on host a, shared memory"}},
		{"a thread each minute", func(s *sample, part float64) { s.Ranks[0].Threads += int64(part * 30) },
			[]string{"rank 0 on host a, threads"}},
		{"three open files", func(s *sample, part float64) { s.Ranks[0].Files += int64(part * 3) },
			[]string{"rank 0 on host a, open files"}},
		{"an object each ten seconds", func(s *sample, part float64) { s.Pool.Objects += int(part * 180) },
			[]string{"pool, objects"}},
		{"the pool by 20 MiB", func(s *sample, part float64) { s.Pool.Used += int64(part * (20 << 20)) },
			[]string{"pool, in use"}},
		{"hosts", func(s *sample, part float64) { s.Pool.Hosts += int(part * 5) }, []string{"pool, hosts"}},
		{"files", func(s *sample, part float64) {
			if part > 0.5 {
				s.Shm, s.Tmp = []string{"/dev/shm/cmpi-0-1", "/dev/shm/cmpi-0-2", "/dev/shm/cmpi-0-3"}, []string{"/tmp/soak-1/x"}
			}
		}, []string{"files left in /dev/shm", "temporary files"}},
		{"this program's files", func(s *sample, part float64) { s.Self.Files += int64(part * 5) },
			[]string{"this program, open files"}},
		{"a peak that goes away", func(s *sample, part float64) {
			if part > 0.83 && part < 0.9 {
				s.Ranks[0].Anon, s.Pool.Used, s.Pool.Objects = 1<<30, 1<<30, 1000
			}
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 0))
			var samples []sample
			const length = 30 * time.Minute
			for i := range 180 {
				s := sample{Seconds: 10 * float64(i), Pool: pool{Used: 20 << 20, Objects: 12, Hosts: 4, Allocated: 25 << 20}, Self: process{Files: 15}}
				for range ranks {
					noise := r.Int64N(1 << 20) // of the garbage collector
					s.Ranks = append(s.Ranks, process{Anon: 10<<20 + noise, Shmem: 20 << 20, Threads: 8, Files: 34})
				}
				test.grow(&s, float64(i)/180)
				samples = append(samples, s)
			}
			verdict := judge(samples, length)
			var bad []string
			for _, f := range verdict {
				if !f.OK {
					bad = append(bad, f.What)
				}
			}
			if d := cmp.Diff(test.bad, bad); d != "" {
				t.Errorf("what has grown (-want +got):\n%s", d)
			}
			if err := failures(verdict); (err != nil) != (len(test.bad) > 0) {
				t.Errorf("failures: %v", err)
			}
		})
	}
}
