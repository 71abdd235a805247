package arena

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// formatted gives the bytes of the eager part of a small pool, changed.
func formatted(t *testing.T, change func(b []byte)) []byte {
	path := filepath.Join(t.TempDir(), "p")
	a := mustOpen(t, Config{Path: path, Size: MinSize, Create: true})
	a.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	change(b)
	return b
}

func TestOpenRefuses(t *testing.T) {
	text := []byte("The quick brown fox jumps over the lazy dog.\n")
	for _, c := range []struct {
		name    string
		content []byte
		create  bool
		want    error
		says    string
	}{
		{"text", text, true, ErrNotPool, "name a pool"},
		{"long text", bytes.Repeat(text, 1<<16), true, ErrNotPool, ""},
		{"zeroes then text", append(make([]byte, 2<<20), text...), true, ErrNotPool, ""},
		{"empty, no create", nil, false, ErrNotPool, "never formatted"},
		{"zeroes, no create", make([]byte, MinSize), false, ErrNotPool, "never formatted"},
		{"few zeroes", make([]byte, 4096), true, ErrTooSmall, "at least 1 MiB"},
		{"magic only", []byte(magic), true, ErrTruncated, ""},
		{"other version", formatted(t, func(b []byte) { b[8] = 99 }), true, ErrVersion, "version 99"},
		{"damaged", formatted(t, func(b []byte) { b[30] ^= 1 }), true, ErrCorrupt, "checksum"},
		{"truncated", formatted(t, func([]byte) {})[:MinSize/2], true, ErrTruncated, "524288 of 1048576"},
		{"size lies", formatted(t, func(b []byte) {
			le.PutUint64(b[16:], MinSize/2)
			le.PutUint64(b[504:], checksum(b[:504]))
		}), true, ErrCorrupt, ""},
		{"geometry lies", formatted(t, func(b []byte) {
			le.PutUint64(b[136:], 0)
			le.PutUint64(b[504:], checksum(b[:504]))
		}), true, ErrCorrupt, "geometry"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pool")
			if err := os.WriteFile(path, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(Config{Path: path, Create: c.create})
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("text: %v", err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(after, c.content) {
				t.Error("the file was modified")
			}
		})
	}
}

func TestOpenRefusesOtherThings(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		want error
	}{
		{"", ErrMissing},
		{filepath.Join(dir, "none"), ErrMissing},
		{filepath.Join(dir, "none", "pool"), ErrMissing},
		{dir, ErrUnusable},
		{fifo, ErrUnusable},
		{"/dev/null", ErrUnusable},
		{"/dev/zero", ErrUnusable},
	} {
		if _, err := Open(Config{Path: c.path}); !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.path, err, c.want)
		}
	}
	if _, err := Open(Config{Path: filepath.Join(dir, "small"), Size: 1000, Create: true}); !errors.Is(err, ErrTooSmall) {
		t.Errorf("1000 bytes: %v", err)
	}
}

func TestPermission(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may open everything")
	}
	path := filepath.Join(t.TempDir(), "pool")
	if err := os.WriteFile(path, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Path: path}); !errors.Is(err, ErrPermission) {
		t.Errorf("read-only file: %v", err)
	}
}

func TestErrnoNames(t *testing.T) {
	for _, c := range []struct {
		errno error
		want  error
	}{
		{unix.EACCES, ErrPermission}, {unix.EPERM, ErrPermission}, {unix.EROFS, ErrPermission},
		{unix.ENOENT, ErrMissing}, {unix.ENOSPC, ErrNoSpace}, {unix.EISDIR, ErrUnusable},
		{unix.ENXIO, ErrUnusable},
	} {
		if err := openFault(&os.PathError{Op: "open", Path: "x", Err: c.errno}); !errors.Is(err, c.want) {
			t.Errorf("%v is called %v", c.errno, err)
		}
	}
}

func TestObjectErrors(t *testing.T) {
	a := mustOpen(t, Config{Path: filepath.Join(t.TempDir(), "pool"), Size: MinSize, Create: true})
	long := strings.Repeat("n", MaxName)
	for _, c := range []struct {
		name string
		size int64
		want error
	}{
		{"", 1, ErrBadName},
		{"a\x00b", 1, ErrBadName},
		{long + "n", 1, ErrNameTooLong},
		{"x", 0, ErrBadSize},
		{"x", -5, ErrBadSize},
		{"x", MinSize, ErrPoolFull},
		{"x", 1<<63 - 1, ErrPoolFull},
		{long, 1, nil},
		{long, 1, ErrExists},
	} {
		if _, err := a.Create(c.name, c.size); !errors.Is(err, c.want) {
			t.Errorf("create %q of %d bytes: %v, want %v", c.name, c.size, err, c.want)
		}
	}
	for _, err := range []error{a.Destroy("none"), func() error { _, err := a.OpenObject("none"); return err }()} {
		if !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
	}
	a.Close()
	if _, err := a.Create("late", 1); !errors.Is(err, ErrClosed) {
		t.Errorf("create after close: %v", err)
	}
}

// TestEveryErrorHasARemedy keeps the table complete.
func TestEveryErrorHasARemedy(t *testing.T) {
	for _, err := range []error{
		ErrNotPool, ErrVersion, ErrTruncated, ErrTooSmall, ErrExists, ErrNotFound, ErrNameTooLong, ErrBadName,
		ErrBadSize, ErrPoolFull, ErrPermission, ErrCorrupt, ErrLockTimeout, ErrNoSpace, ErrHostsFull, ErrMissing,
		ErrUnusable, ErrInUse,
	} {
		if remedies[err] == "" {
			t.Errorf("%v has none", err)
		}
	}
}
