package mpitransport

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cmpi/arena"
	"cmpi/flush"
)

func TestJobOfObject(t *testing.T) {
	for _, tc := range []struct {
		object, job string
		ok          bool
	}{
		{rootName("5f0c"), "5f0c", true}, {"j/5f0c/3/17", "5f0c", true}, {"j/5f0c", "", false}, {"j//root", "", false},
		{"flags", "", false}, {"", "", false}, {"jobs/x/y", "", false},
	} {
		job, ok := JobOfObject(tc.object)
		if job != tc.job && ok || ok != tc.ok {
			t.Errorf("%q: %q, %v", tc.object, job, ok)
		}
	}
}

func TestGarbage(t *testing.T) {
	owner := func(pid uint32) arena.Owner { return arena.Owner{PID: pid} }
	objects := []arena.Info{
		{Name: "j/gone/root", Size: 1, Owner: owner(1), Life: arena.Dead},
		{Name: "j/gone/0/1", Size: 2, Owner: owner(1), Life: arena.Dead},
		{Name: "j/half/root", Size: 4, Owner: owner(2), Life: arena.Dead},
		{Name: "j/half/1/0", Size: 8, Owner: owner(3), Life: arena.Alive},
		{Name: "j/wide/root", Size: 16, Owner: owner(4), Life: arena.Dead},
		{Name: "j/wide/1/0", Size: 32, Owner: owner(5), Life: arena.Unknown},
		{Name: "flags", Size: 64, Owner: owner(6), Life: arena.Dead},
		{Name: "kept", Size: 128, Owner: owner(7), Life: arena.Alive},
	}
	jobs := Jobs(objects)
	want := []*Job{
		{Name: "gone", Objects: 2, Bytes: 3, Dead: 1},
		{Name: "half", Objects: 2, Bytes: 12, Dead: 1, Alive: 1},
		{Name: "wide", Objects: 2, Bytes: 48, Dead: 1, Unknown: 1},
	}
	if d := cmp.Diff(want, jobs); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for i, life := range []arena.Life{arena.Dead, arena.Alive, arena.Unknown} {
		if jobs[i].Life() != life {
			t.Errorf("job %s is %v", jobs[i].Name, jobs[i].Life())
		}
	}
	sum := func(list []arena.Info) (n int64) {
		for _, o := range list {
			n += o.Size
		}
		return n
	}
	for _, tc := range []struct {
		across        bool
		garbage, held int64
	}{{false, 1 + 2 + 64, 4 + 16}, {true, 1 + 2 + 16 + 64, 4}} {
		if garbage, held := Garbage(objects, tc.across); sum(garbage) != tc.garbage || sum(held) != tc.held {
			t.Errorf("across %v: garbage %+v, held %+v", tc.across, garbage, held)
		}
	}
}

// TestCollect: what a dead process left goes, in every mode; what is of a job
// that goes on stays.
func TestCollect(t *testing.T) {
	for _, mode := range []flush.Mode{flush.Coherent, flush.Flush, flush.Uncached, flush.Emulate} {
		t.Run(mode.String(), func(t *testing.T) {
			c := arena.Config{Path: filepath.Join(t.TempDir(), "pool"), Size: 8 << 20, Create: true, Mode: mode,
				Flush: flush.Options{Seed: 1}, HostID: [16]byte{1}}
			alive := openArena(t, c)
			c.Owner = arena.Owner{Host: c.HostID, PID: 1 << 22, Start: 5}
			c.Flush.Seed++
			dead := openArena(t, c)
			for _, name := range []string{"j/on/0/1", "j/over/root", "loose"} {
				if _, err := dead.Create(name, 100); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := alive.Create("j/on/root", 100); err != nil {
				t.Fatal(err)
			}
			freed, held, err := Collect(alive, false)
			if err != nil || len(freed) != 2 || len(held) != 1 || held[0].Name != "j/on/0/1" {
				t.Errorf("freed %+v, held %+v, %v", freed, held, err)
			}
			if l, err := alive.List(); err != nil || len(l) != 2 {
				t.Errorf("left %+v, %v", l, err)
			}
		})
	}
}

func openArena(t *testing.T, c arena.Config) *arena.Arena {
	t.Helper()
	a, err := arena.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}
