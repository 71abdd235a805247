package arena

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"cmpi/flush"
)

var allModes = []flush.Mode{flush.Coherent, flush.Flush, flush.Uncached, flush.Emulate}

// forModes runs a test in every coherence mode, with a seed that it prints.
func forModes(t *testing.T, f func(t *testing.T, c Config)) {
	t.Helper()
	for i, m := range allModes {
		t.Run(m.String(), func(t *testing.T) {
			c := Config{
				Path: filepath.Join(t.TempDir(), "pool"), Size: 8 << 20, Create: true, Mode: m,
				Flush:  flush.Options{Seed: testSeed + uint64(i), Chaos: -1},
				HostID: [16]byte{1},
			}
			if m == flush.Emulate {
				t.Logf("seed %d", c.Flush.Seed)
			}
			f(t, c)
		})
	}
}

// testSeed is fixed so that a failure repeats; the stress tests add their own.
const testSeed = 20251116

func mustOpen(t testing.TB, c Config) *Arena {
	t.Helper()
	a, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// otherHost is c as another host would open the pool.
func otherHost(c Config, n byte) Config {
	c.HostID = [16]byte{n}
	c.Flush.Seed += uint64(n)
	c.Owner = Owner{}
	return c
}

// fill and holds write and check an object's bytes, in lines that differ.
func fill(o *Object, salt byte) {
	v := o.a.View()
	buf := make([]byte, o.Size())
	for i := range buf {
		buf[i] = byte(i/lineSize) ^ salt
	}
	v.CopyIn(o.Addr(), unsafe.Pointer(&buf[0]), len(buf))
	v.Fence()
}

func contents(o *Object) []byte {
	buf := make([]byte, o.Size())
	o.a.View().CopyOut(unsafe.Pointer(&buf[0]), o.Addr(), len(buf))
	return buf
}

func TestCreateOpenDestroy(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		a := mustOpen(t, c)
		b := mustOpen(t, otherHost(c, 2))
		for _, size := range []int64{1, 64, 4096, 4097, 100_000, largeObject, largeObject + 5} {
			name := fmt.Sprintf("object %d", size)
			o, err := a.Create(name, size)
			if err != nil {
				t.Fatal(err)
			}
			if !zero(contents(o)) {
				t.Errorf("%s is not zero", name)
			}
			if _, err := b.Create(name, size); !errors.Is(err, ErrExists) {
				t.Errorf("second create of %s: %v", name, err)
			}
			fill(o, 7)
			p, err := b.OpenObject(name)
			if err != nil {
				t.Fatal(err)
			}
			if p.Offset() != o.Offset() || p.Size() != size || p.Generation() != o.Generation() || p.Name() != name {
				t.Errorf("opened %+v, created %+v", p, o)
			}
			for i, x := range contents(p) {
				if x != byte(i/lineSize)^7 {
					t.Fatalf("byte %d of %s is %#x", i, name, x)
				}
			}
			p.Close()
			if err := b.Destroy(name); err != nil {
				t.Fatal(err)
			}
			if _, err := a.OpenObject(name); !errors.Is(err, ErrNotFound) {
				t.Errorf("open after destroy: %v", err)
			}
			if err := o.Destroy(); !errors.Is(err, ErrNotFound) {
				t.Errorf("second destroy: %v", err)
			}
		}
	})
}

// shmDir is a directory in memory, where pools usually are.
func shmDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "cmpi-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
