package flush

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// sharedMemory returns size bytes of zeroed memory that every View of a test shares.
func sharedMemory(t testing.TB, size int) []byte {
	t.Helper()
	m, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
	if err != nil {
		t.Fatalf("mmap: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(m); err != nil {
			t.Errorf("munmap: %v", err)
		}
	})
	return m
}

// newView returns a View that is closed with the test.
func newView(t testing.TB, shared []byte, mode Mode, o Options) *View {
	t.Helper()
	o.AllowNoCacheControl = true
	v, err := NewView(shared, mode, o)
	if err != nil {
		t.Fatalf("NewView(%v): %v", mode, err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	if mode == Emulate {
		t.Logf("seed %d chaos %d", v.Seed(), o.Chaos)
	}
	return v
}

// at returns the address of offset off in v.
func at(v *View, off int) unsafe.Pointer { return unsafe.Add(v.Base(), off) }

// ptr returns the address of the first byte of b.
func ptr(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// variant is one way of running the common suite.
type variant struct {
	name string
	mode Mode
	o    Options
}

// variants are all modes, with and without vector instructions, and Emulate
// under adversaries of several seeds and strengths.
func variants() []variant {
	vs := []variant{
		{"coherent", Coherent, Options{}},
		{"coherent-novector", Coherent, Options{NoVector: true}},
		{"flush", Flush, Options{}},
		{"flush-novector", Flush, Options{NoVector: true}},
		{"flush-cachedlines", Flush, Options{CachedLines: true}},
		{"uncached", Uncached, Options{}},
		{"uncached-novector", Uncached, Options{NoVector: true}},
		{"emulate-calm", Emulate, Options{Seed: 1}},
	}
	for i, name := range []string{"emulate-a", "emulate-b", "emulate-c", "emulate-d"} {
		vs = append(vs, variant{name, Emulate, Options{Seed: uint64(i) + 2, Chaos: -1}})
	}
	return append(vs, variant{"emulate-wild", Emulate, Options{Seed: 99, Chaos: 90}})
}

// looks reports whether one of n looks succeeds.
func looks(n int, look func() bool) bool {
	for range n {
		if look() {
			return true
		}
	}
	return false
}

// diff is cmp.Diff for the bytes that are mostly equal and often many.
func diff(want, got []byte) string {
	if bytes.Equal(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}
