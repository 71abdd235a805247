package main

import (
	"testing"
	"unsafe"

	"cmpi/mpitransport/window"
)

// TestTargetLayout: struct cmpi_target of win.h is window.FastTarget, and both
// number what is open alike.
func TestTargetLayout(t *testing.T) {
	var x window.FastTarget
	for _, f := range []struct {
		name      string
		got, want uintptr
	}{
		{"base", unsafe.Offsetof(x.Base), 0},
		{"size", unsafe.Offsetof(x.Size), 8},
		{"unit", unsafe.Offsetof(x.DispUnit), 16},
		{"open", unsafe.Offsetof(x.Open), 24},
		{"used", unsafe.Offsetof(x.Used), 28},
		{"all", unsafe.Sizeof(x), 32},
		{"CMPI_CLOSED", window.Closed, 0},
		{"CMPI_GUARDED", window.Guarded, 1},
		{"CMPI_DIRECT", window.Direct, 2},
		{"CMPI_EXACT", window.Exact, 3},
	} {
		if f.got != f.want {
			t.Errorf("%s: %d, win.h says %d", f.name, f.got, f.want)
		}
	}
}
