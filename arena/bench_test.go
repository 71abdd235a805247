package arena

import (
	"fmt"
	"path/filepath"
	"testing"

	"cmpi/flush"
)

func benchArena(b *testing.B, dir string, m flush.Mode) *Arena {
	return mustOpen(b, Config{
		Path: filepath.Join(dir, fmt.Sprintf("cmpi-bench-%d", randomWord())), Create: true, Mode: m, HostID: [16]byte{1},
	})
}

func BenchmarkCreateDestroy(b *testing.B) {
	for _, m := range []flush.Mode{flush.Coherent, flush.Flush} {
		for _, size := range []int64{64, 64 << 10} {
			b.Run(fmt.Sprintf("%v/%d", m, size), func(b *testing.B) {
				a := benchArena(b, shmDir(b), m)
				for b.Loop() {
					o, err := a.Create("x", size)
					if err != nil {
						b.Fatal(err)
					}
					if err := o.Destroy(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkOpenObject(b *testing.B) {
	for _, m := range []flush.Mode{flush.Coherent, flush.Flush} {
		b.Run(m.String(), func(b *testing.B) {
			a := benchArena(b, shmDir(b), m)
			if _, err := a.Create("x", 64); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := a.OpenObject("x"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLock(b *testing.B) {
	for _, m := range []flush.Mode{flush.Coherent, flush.Flush} {
		for _, hosts := range []int{1, 2, 8} {
			b.Run(fmt.Sprintf("%v/%d hosts", m, hosts), func(b *testing.B) {
				a := benchArena(b, shmDir(b), m)
				for i := 1; i < hosts; i++ {
					c := otherHost(a.cfg, byte(i+1))
					if err := mustOpen(b, c).withLock(func() error { return nil }); err != nil {
						b.Fatal(err)
					}
				}
				for b.Loop() {
					if err := a.withLock(func() error { return nil }); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkOpenFreshPool(b *testing.B) {
	dir := shmDir(b)
	for b.Loop() {
		path := filepath.Join(dir, "pool")
		a, err := Open(Config{Path: path, Create: true})
		if err != nil {
			b.Fatal(err)
		}
		a.Close()
		if _, err := RemoveIfIdle(path); err != nil {
			b.Fatal(err)
		}
	}
}
