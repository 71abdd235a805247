package main

import (
	"testing"
	"unsafe"

	"cmpi/mpitransport"
	"cmpi/ringq"
)

// TestFastLayout: fast.h mirrors the Go layouts.
func TestFastLayout(t *testing.T) {
	var s ringq.LineState
	var p mpitransport.FastPeer
	for _, c := range []struct {
		name     string
		go_, inC uintptr
	}{
		{"line_state.pos", unsafe.Offsetof(s.Pos), 8}, {"line_state.limit", unsafe.Offsetof(s.Limit), 16},
		{"line_state.mask", unsafe.Offsetof(s.Mask), 24}, {"line_state.key", unsafe.Offsetof(s.Key), 32},
		{"line_state.seq", unsafe.Offsetof(s.Seq), 40}, {"line_state.open", unsafe.Offsetof(s.Open), 48},
		{"peer.in", unsafe.Offsetof(p.In), 56}, {"peer.out_busy", unsafe.Offsetof(p.OutBusy), 112},
		{"peer.in_busy", unsafe.Offsetof(p.InBusy), 120}, {"sizeof peer", unsafe.Sizeof(p), 128},
		{"sizeof comm", unsafe.Sizeof(mpitransport.FastComm{}), 8},
		{"kind", uintptr(mpitransport.FastKind), 1},
	} {
		if c.go_ != c.inC {
			t.Errorf("%s: %d in Go, fast.h says %d", c.name, c.go_, c.inC)
		}
	}
}
