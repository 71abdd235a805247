package arena

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// allocated is how many bytes of memory a file takes.
func allocated(t testing.TB, path string) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

func TestFreshPoolIsCheap(t *testing.T) {
	path := filepath.Join(shmDir(t), "pool")
	best := time.Hour
	for range 5 {
		os.Remove(path)
		start := time.Now()
		a := mustOpen(t, Config{Path: path, Create: true})
		best = min(best, time.Since(start))
		a.Close()
	}
	t.Logf("fresh pool of 1 GiB: %v, %d KiB", best, allocated(t, path)>>10)
	if best > 2*time.Millisecond {
		t.Errorf("opening took %v", best)
	}
	if n := allocated(t, path); n > 64<<10 {
		t.Errorf("it takes %d bytes", n)
	}
	if fi, _ := os.Stat(path); fi.Mode().Perm() != 0o600 || fi.Size() != DefaultSize {
		t.Errorf("mode %v, size %d", fi.Mode(), fi.Size())
	}
	a := mustOpen(t, Config{Path: path})
	if _, err := a.OpenObject("none"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if n := allocated(t, path); n > 64<<10 {
		t.Errorf("after a search for nothing it takes %d bytes", n)
	}
}

func TestMemoryReturns(t *testing.T) {
	path := filepath.Join(shmDir(t), "pool")
	a := mustOpen(t, Config{Path: path, Create: true})
	for _, size := range []int64{100_000, 16 << 20} {
		before := allocated(t, path)
		o, err := a.Create("x", size)
		if err != nil {
			t.Fatal(err)
		}
		if n := allocated(t, path) - before; n < size {
			t.Errorf("%d bytes reserved of %d", n, size)
		}
		fill(o, 1)
		o.Destroy()
		if n := allocated(t, path) - before; n > 16<<10 {
			t.Errorf("%d bytes stay after %d were freed", n, size)
		}
	}
}

func TestFullFilesystem(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("needs a small filesystem, and mounting one says: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	path := filepath.Join(dir, "pool")
	a := mustOpen(t, Config{Path: path, Create: true})
	keep, err := a.Create("keep", 100_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{960_000, 64 << 20} {
		if _, err := a.Create("too large", size); !errors.Is(err, ErrNoSpace) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	// Fill it to the last page; metadata pages must be promised as well.
	var i int
	for i = 0; ; i++ {
		if _, err = a.Create(fmt.Sprint("piece ", i), 4096); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrNoSpace) {
		t.Errorf("piece %d: %v", i, err)
	}
	t.Logf("%d pieces fit", i)
	for range 100 {
		if _, err := a.OpenObject(fmt.Sprint("none ", i)); !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
	}
	fill(keep, 1)
	mustBeSound(t, a)
	for ; i > 0; i-- {
		if err := a.Destroy(fmt.Sprint("piece ", i-1)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Create("again", 400_000); err != nil {
		t.Error(err)
	}

	if _, err := Open(Config{Path: filepath.Join(dir, "second"), Create: true}); err == nil {
		filler, _ := os.Create(filepath.Join(dir, "filler"))
		for _, err = filler.Write(make([]byte, 4096)); err == nil; _, err = filler.Write(make([]byte, 4096)) {
		}
		filler.Close()
		if _, err := Open(Config{Path: filepath.Join(dir, "third"), Create: true}); !errors.Is(err, ErrNoSpace) {
			t.Errorf("pool on a full filesystem: %v", err)
		}
	}
}

// TestOpenTogether: many processes' worth of first opens make one pool.
func TestOpenTogether(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		const n = 8
		ids := make(chan [16]byte, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				a, err := Open(otherHost(c, byte(i+1)))
				if err != nil {
					t.Error(err)
					return
				}
				ids <- a.ID()
				a.Close()
			})
		}
		wg.Wait()
		close(ids)
		first := <-ids
		for id := range ids {
			if id != first {
				t.Error("two pools were made")
			}
		}
	})
}

func TestRemoveIfIdle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pool")
	a := mustOpen(t, Config{Path: path, Size: MinSize, Create: true})
	if removed, err := RemoveIfIdle(path); removed || err != nil {
		t.Errorf("in use: %v, %v", removed, err)
	}
	a.Close()
	if removed, err := RemoveIfIdle(path); !removed || err != nil {
		t.Errorf("idle: %v, %v", removed, err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it is still there")
	}
	os.WriteFile(path, []byte("text"), 0o600)
	if removed, err := RemoveIfIdle(path); removed || !errors.Is(err, ErrNotPool) {
		t.Errorf("text: %v, %v", removed, err)
	}
}

// TestRemoveRace: openers and removers compete; nobody ends up with a pool that
// has no name while it was opened.
func TestRemoveRace(t *testing.T) {
	path := filepath.Join(shmDir(t), "pool")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				a, err := Open(Config{Path: path, Size: MinSize, Create: true})
				if err != nil {
					t.Error(err)
					return
				}
				if a.back.unlinked() {
					t.Error("opened a removed pool")
				}
				a.Close()
				if _, err := RemoveIfIdle(path); err != nil && !errors.Is(err, ErrMissing) && !errors.Is(err, ErrNotPool) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pool")
	os.WriteFile(path, []byte("no longer needed"), 0o600)
	c := Config{Path: path, Size: 2 << 20}
	if err := Format(c); err != nil {
		t.Fatal(err)
	}
	a := mustOpen(t, Config{Path: path})
	if a.Size() != 2<<20 {
		t.Errorf("%d bytes", a.Size())
	}
	if err := Format(c); !errors.Is(err, ErrInUse) {
		t.Errorf("in use: %v", err)
	}
	if _, err := a.Create("kept", 10); err != nil {
		t.Fatal(err)
	}
	id := a.ID()
	if err := Replace(c); err != nil {
		t.Fatal(err)
	}
	if b := mustOpen(t, Config{Path: path}); b.ID() == id || mustStat(t, b).Objects != 0 {
		t.Error("the pool was not replaced")
	}
	if _, err := a.OpenObject("kept"); err != nil {
		t.Errorf("whoever had the old pool open has lost it: %v", err)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
		t.Errorf("files %q", left)
	}
}
