package arena

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// naive is the specification of groupBits, one bool per granule.
type naive []bool

func (v naive) summarize() (s summary) {
	run := 0
	for i, taken := range v {
		if taken {
			run = 0
			continue
		}
		run++
		s.free++
		s.longest = max(s.longest, uint16(run))
		if run == i+1 {
			s.start = uint16(run)
		}
		if i == len(v)-1 {
			s.end = uint16(run)
		}
	}
	return s
}

func (v naive) fit(want int) int {
	run := 0
	for i, taken := range v {
		if run++; taken {
			run = 0
		}
		if run == want {
			return i + 1 - want
		}
	}
	return -1
}

func TestBitmapAgainstSpecification(t *testing.T) {
	rng := rand.New(rand.NewPCG(testSeed, 1))
	t.Logf("seed %d", testSeed)
	for _, n := range []int{1, 63, 64, 65, 1000, groupGranules} {
		var b groupBits
		v := make(naive, n)
		for range 60 {
			lo := rng.IntN(n)
			hi := min(n, lo+1+rng.IntN(1+rng.IntN(200)))
			taken := rng.IntN(3) > 0
			b.set(lo, hi, taken)
			for i := lo; i < hi; i++ {
				v[i] = taken
			}
			if got, want := b.summarize(n), v.summarize(); got != want {
				t.Fatalf("%d granules: %+v, want %+v", n, got, want)
			}
			k := 1 + rng.IntN(min(n, 100))
			if got, want := b.fit(n, k), v.fit(k); got != want {
				t.Fatalf("%d granules: run of %d at %d, want %d", n, k, got, want)
			}
		}
	}
}

func TestSpaceIsReusedAndCoalesces(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		a := mustOpen(t, c)
		empty := mustStat(t, a)
		const size = 100_000
		var objects []*Object
		for i := 0; ; i++ {
			o, err := a.Create(fmt.Sprint("part ", i), size)
			if errors.Is(err, ErrPoolFull) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			objects = append(objects, o)
		}
		if n := empty.Free / (25 * granule); int64(len(objects)) != n {
			t.Errorf("%d objects fit, want %d", len(objects), n)
		}
		// Every other one is freed: nothing larger fits, the same size does.
		for i := 0; i < len(objects); i += 2 {
			if err := objects[i].Destroy(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := a.Create("larger", 3*size); !errors.Is(err, ErrPoolFull) {
			t.Errorf("three parts in the gap of one: %v", err)
		}
		o, err := a.Create("again", size)
		if err != nil {
			t.Fatal(err)
		}
		if o.Offset() != objects[0].Offset() {
			t.Errorf("first fit at %d, want %d", o.Offset(), objects[0].Offset())
		}
		if !zero(contents(o)) {
			t.Error("reused space is not zero")
		}
		o.Destroy()
		for i := 1; i < len(objects); i += 2 {
			if err := objects[i].Destroy(); err != nil {
				t.Fatal(err)
			}
		}
		if now := mustStat(t, a); now.Free != empty.Free || now.Largest != empty.Free || now.Objects != 0 {
			t.Errorf("after freeing all: %+v, at first: %+v", now, empty)
		}
		whole, err := a.Create("whole", empty.Free)
		if err != nil {
			t.Fatal(err)
		}
		whole.Destroy()
		mustBeSound(t, a)
	})
}

// TestObjectsAcrossGroups: runs that start, end and lie in several groups.
func TestObjectsAcrossGroups(t *testing.T) {
	const group = groupGranules * granule
	a := mustOpen(t, Config{Path: shmDir(t) + "/pool", Size: 5 * group, Create: true})
	for _, sizes := range [][]int64{
		{group - granule, 2 * granule, group},
		{granule, 3 * group, granule},
		{2*group + 5, group / 2, group},
	} {
		for i, size := range sizes {
			if _, err := a.Create(fmt.Sprint(i), size); err != nil {
				t.Fatal(err)
			}
		}
		mustBeSound(t, a)
		for i := range sizes {
			if err := a.Destroy(fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		mustBeSound(t, a)
	}
	if st := mustStat(t, a); st.Free != st.Largest || st.Used != 0 {
		t.Errorf("%+v", st)
	}
}

func mustStat(t testing.TB, a *Arena) Stat {
	t.Helper()
	st, err := a.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func mustBeSound(t testing.TB, a *Arena) Report {
	t.Helper()
	r, err := a.Check()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Error(f)
	}
	return r
}
