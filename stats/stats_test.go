package stats

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"cmpi/arena"
	"cmpi/flush"
)

// open gives one process's way into a pool; with make set the pool is made.
func open(t *testing.T, path string, mode flush.Mode) *arena.Arena {
	t.Helper()
	a, err := arena.Open(arena.Config{Path: path, Size: 4 << 20, Create: true, Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// count counts something different in each word of t's.
func count(t *Table, salt uint64) {
	t.Unexpected, t.Spins, t.Yields, t.Naps = salt+1, salt+2, salt+3, salt+4
	t.PoolBytes, t.RingsOut, t.RingsIn, t.Broken = salt+5, salt+6, salt+7, salt+8
	for i := range t.Pairs {
		words := unsafe.Slice((*uint64)(unsafe.Pointer(&t.Pairs[i])), 18)
		for k := range words {
			words[k] = salt + uint64(100*i+k)
		}
	}
}

func TestTable(t *testing.T) {
	for _, mode := range []flush.Mode{flush.Coherent, flush.Flush, flush.Uncached, flush.Emulate} {
		t.Run(mode.String(), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pool")
			const ranks = 3
			want := Job{Name: "a/b", Pool: path, Size: ranks, Mode: mode.String()}
			for r := range ranks {
				tab, err := New(open(t, path, mode), "a/b", r, ranks)
				if err != nil {
					t.Fatal(err)
				}
				count(tab, uint64(1000*r))
				tab.Publish()
				c := Counters{Rank: r, PID: uint32(os.Getpid()), Own: *tab.Rank, With: append([]Pair(nil), tab.Pairs...)}
				c.Own.Lines = flush.Counts{} // those of the publishing itself are told the next time
				want.Ranks = append(want.Ranks, c)
				defer func() {
					if err := tab.Drop(); err != nil {
						t.Error(err)
					}
				}()
			}
			jobs, err := Read(path)
			if err != nil || len(jobs) != 1 {
				t.Fatalf("%d jobs, %v", len(jobs), err)
			}
			got := jobs[0]
			for i := range got.Ranks {
				if counted := got.Ranks[i].Own.Lines.Published > 0; counted != (mode != flush.Coherent) {
					t.Errorf("rank %d has published %d lines", i, got.Ranks[i].Own.Lines.Published)
				}
				got.Ranks[i].Own.Lines = flush.Counts{}
			}
			if age := time.Since(got.Started); age < 0 || age > time.Hour {
				t.Errorf("started %v ago", age)
			}
			got.Started, got.Seen = time.Time{}, time.Time{}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			// Its own process sees the same.
			if own, err := Jobs(open(t, path, flush.Flush)); err != nil || len(own) != 1 {
				t.Errorf("%d jobs, %v", len(own), err)
			}
		})
	}
}

// A rank that was killed has left counters under a name that is used again.
func TestNameAgain(t *testing.T) {
	a := open(t, filepath.Join(t.TempDir(), "pool"), flush.Coherent)
	first, err := New(a, "job", 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	first.Naps = 7
	second, err := New(a, "job", 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if second.Naps != 0 {
		t.Errorf("the counters begin with %d", second.Naps)
	}
}

// TestUnnamed: a pool that has lost its name is found among this process's files.
func TestUnnamed(t *testing.T) {
	f, err := os.CreateTemp("/dev/shm", "cmpi-test-stats-")
	if err != nil {
		t.Skipf("no shared memory here: %v", err)
	}
	defer f.Close()
	a := open(t, f.Name(), flush.Coherent)
	tab, err := New(a, "unnamed", 0, 2)
	os.Remove(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	tab.Pairs[1].Eager.Add(5)
	jobs, err := Read("")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, j := range jobs {
		if j.Name == "unnamed" && j.Ranks[0].PID == uint32(os.Getpid()) {
			n++
			if got := j.Ranks[0].With[1].Sent(); got != (Traffic{1, 5}) {
				t.Errorf("sent %+v", got)
			}
		}
	}
	if n != 1 {
		t.Errorf("found %d times among %d jobs", n, len(jobs))
	}
}

// TestHostile: counters that make no sense are left out, the others are not.
func TestHostile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pool")
	a := open(t, path, flush.Coherent)
	if _, err := New(a, "good", 1, 2); err != nil {
		t.Fatal(err)
	}
	for name, h := range map[string]header{
		"j/bad/stats/0":  {rank: 0, ranks: 1000},                    // longer than its object
		"j/bad/stats/1":  {rank: 0, ranks: 2},                       // not who its name says
		"j/bad/stats/2":  {rank: 2, ranks: 0},                       // of no job
		"j/bad/stats/3":  {rank: 3, ranks: maxRanks + 1},            //
		"j/bad/stats/x":  {rank: 0, ranks: 1},                       // no number
		"j/bad/stats/4":  {rank: 4, ranks: 1<<32 - 1},               // overflow
		"j/good/stats/0": {rank: 0, ranks: 3, mode: flush.Mode(99)}, // of another size than the job
	} {
		o, err := a.Create(name, Size(4))
		if err != nil {
			t.Fatal(err)
		}
		b := h.encode()
		copy(unsafe.Slice((*byte)(o.Addr()), lineSize), b[:])
	}
	if _, err := a.Create("j/short/stats/0", 8); err != nil {
		t.Fatal(err)
	}
	jobs, err := Read(path)
	if err != nil || len(jobs) != 1 || jobs[0].Name != "good" || len(jobs[0].Ranks) != 1 {
		t.Errorf("%+v, %v", jobs, err)
	}
}

// TestCutShort: the pool's file loses its memory while it is read.
func TestCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pool")
	a := open(t, path, flush.Coherent)
	if _, err := New(a, "job", 0, 1); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Jobs(a); !errors.Is(err, ErrFault) {
		t.Errorf("%v, want %v", err, ErrFault)
	}
	// a must be closed before the file is gone: nothing of it may be touched.
}

func TestParseName(t *testing.T) {
	for _, tc := range []struct {
		name, job string
		rank      int
		ok        bool
	}{
		{Name("x", 12), "x", 12, true},
		{"j/a/b/stats/0", "a/b", 0, true},
		{"j/x/stats/-1", "", 0, false},
		{"j/x/stats/01", "", 0, false},
		{"j/x/stats/", "", 0, false},
		{"j//stats/1", "", 0, false},
		{"x/stats/1", "", 0, false},
		{"j/x/1", "", 0, false},
	} {
		job, rank, ok := parseName(tc.name)
		if ok != tc.ok || ok && (job != tc.job || rank != tc.rank) {
			t.Errorf("%s: %q, %d, %v", tc.name, job, rank, ok)
		}
	}
}

func TestSince(t *testing.T) {
	then := &Job{Ranks: []Counters{{Rank: 1, Own: Rank{Naps: 5, PoolBytes: 3}, With: []Pair{{Eager: Traffic{2, 20}}}}}}
	now := &Job{Ranks: []Counters{
		{Rank: 0, Own: Rank{Naps: 4}, With: []Pair{{}}},
		{Rank: 1, Own: Rank{Naps: 9, PoolBytes: 3}, With: []Pair{{Eager: Traffic{7, 10}}}}, // fewer bytes: not from us
	}}
	want := &Job{Ranks: []Counters{
		{Rank: 0, Own: Rank{Naps: 4}, With: []Pair{{}}},
		{Rank: 1, Own: Rank{Naps: 4, PoolBytes: 3}, With: []Pair{{Eager: Traffic{5, 0}}}},
	}}
	if d := cmp.Diff(want, now.Since(then)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if now.Ranks[1].Own.Naps != 9 || now.Ranks[1].With[0].Eager.Count != 7 {
		t.Error("the later look was changed")
	}
}

func FuzzDecode(f *testing.F) {
	h := header{rank: 1, ranks: 2}.encode()
	f.Add(append(h[:], make([]byte, Size(2)-lineSize)...))
	f.Add(h[:])
	f.Fuzz(func(t *testing.T, b []byte) {
		h, c, err := decode(b)
		if err != nil {
			return
		}
		if int64(len(b)) < Size(len(c.With)) || c.Rank >= len(c.With) || int(h.ranks) != len(c.With) {
			t.Errorf("%d bytes: rank %d, %d pairs", len(b), c.Rank, len(c.With))
		}
	})
}
