package arena

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cmpi/flush"
)

func TestDaxSize(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "dev/char/250:7")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		size, align string
		ok          bool
	}{
		{"1073741824\n", "2097152\n", true},
		{"1073741824\n", "0x200000\n", true},
		{"1073741824\n", "0\n", false},
		{"1073741824\n", "3\n", false},
		{"-1\n", "4096\n", false},
		{"many\n", "4096\n", false},
	} {
		os.WriteFile(filepath.Join(dir, "size"), []byte(c.size), 0o600)
		os.WriteFile(filepath.Join(dir, "align"), []byte(c.align), 0o600)
		size, align, err := daxSize(root, 250, 7)
		if (err == nil) != c.ok || c.ok && (size != 1<<30 || align != 2<<20) {
			t.Errorf("%q, %q: %d, %d, %v", c.size, c.align, size, align, err)
		}
	}
	if _, _, err := daxSize(root, 1, 3); !errors.Is(err, ErrUnusable) {
		t.Errorf("no device: %v", err)
	}
}

// device is a file full of noise behind a blank start, to be treated as a
// device: never truncated, reserved, read or written but through its mapping.
func device(t *testing.T, c Config) Config {
	t.Helper()
	b := make([]byte, 4<<20)
	for i := range b[granule:] {
		b[granule+i] = byte(i*7 + i>>9)
	}
	clear(b[formatOff : formatOff+lineSize])
	if err := os.WriteFile(c.Path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	c.Size, c.asDevice = 0, true
	return c
}

func TestDevice(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		c = device(t, c)
		refuse := c
		refuse.Create = false
		if _, err := Open(refuse); !errors.Is(err, ErrNotPool) {
			t.Errorf("blank device: %v", err)
		}
		a := mustOpen(t, c)
		b := mustOpen(t, otherHost(c, 2))
		if a.ID() != b.ID() {
			t.Error("two hosts see two pools")
		}
		if c.Mode == flush.Coherent && a.meta.Mode() != flush.Flush {
			t.Error("metadata of a device is not flushed")
		}
		for _, size := range []int64{1, 70_000, largeObject + 1} {
			o, err := a.Create("x", size)
			if err != nil {
				t.Fatal(err)
			}
			if !zero(contents(o)) {
				t.Error("object is not zero")
			}
			fill(o, 3)
			o.Close()
			p, err := b.OpenObject("x")
			if err != nil {
				t.Fatal(err)
			}
			if zero(contents(p)) {
				t.Error("object lost its content")
			}
			if err := p.Destroy(); err != nil {
				t.Fatal(err)
			}
		}
		mustBeSound(t, b)
	})
}

// TestFormatRace: several hosts find a blank device at once. One kernel's
// processes are kept apart by a file lock, so the election among hosts is
// tried on its own.
func TestFormatRace(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		c = device(t, c)
		const hosts = 4
		won := make(chan bool, hosts)
		for i := range hosts {
			go func() {
				cc := otherHost(c, byte(i+1))
				back, err := openBacking(cc.Path, false, true)
				if err != nil {
					t.Error(err)
					won <- false
					return
				}
				a := &Arena{cfg: cc, back: back}
				defer a.detach()
				a.geo, _ = geometryFor(back.size)
				if err := a.openViews(); err != nil {
					t.Error(err)
					won <- false
					return
				}
				won <- a.claimFormat()
			}()
		}
		winners := 0
		for range hosts {
			if <-won {
				winners++
			}
		}
		if winners > 1 {
			t.Errorf("%d hosts would format", winners)
		}
	})
}

func TestDevices(t *testing.T) {
	root := t.TempDir()
	if got := devicesIn(root); len(got) != 0 {
		t.Errorf("without sysfs: %+v", got)
	}
	for name, attrs := range map[string]map[string]string{
		"dax0.0": {"size": "2147483648\n", "align": "2097152\n", "numa_node": "0\n", "target_node": "2\n"},
		"dax1.0": {"size": "0\n", "align": "2097152\n"},
		"dax2.0": {"size": "0x200000\n", "numa_node": "-1\n"},
		"dax3.0": {"size": "much\n"},
	} {
		dir := filepath.Join(root, "bus/dax/devices", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for attr, text := range attrs {
			if err := os.WriteFile(filepath.Join(dir, attr), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []Device{
		{Name: "dax0.0", Path: "/dev/dax0.0", Size: 2 << 30, Align: 2 << 20, Node: 0, Target: 2},
		{Name: "dax2.0", Path: "/dev/dax2.0", Size: 2 << 20, Node: -1, Target: -1},
	}
	if d := cmp.Diff(want, devicesIn(root)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
