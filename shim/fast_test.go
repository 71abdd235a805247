package main

import (
	"testing"
	"unsafe"

	"cmpi/mpitransport"
	"cmpi/ringq"
	"cmpi/stats"
)

// TestFastLayout: fast.h mirrors the Go layouts.
func TestFastLayout(t *testing.T) {
	var s ringq.LineState
	var p mpitransport.FastPeer
	var r mpitransport.FastRequest
	var n stats.Pair
	for _, c := range []struct {
		name     string
		go_, inC uintptr
	}{
		{"line_state.pos", unsafe.Offsetof(s.Pos), 8}, {"line_state.start", unsafe.Offsetof(s.Start), 16},
		{"line_state.limit", unsafe.Offsetof(s.Limit), 24}, {"line_state.check", unsafe.Offsetof(s.Check), 32},
		{"line_state.total", unsafe.Offsetof(s.Total), 40}, {"line_state.express", unsafe.Offsetof(s.Express), 48},
		{"line_state.key", unsafe.Offsetof(s.Key), 56}, {"line_state.seq", unsafe.Offsetof(s.Seq), 64},
		{"line_state.open", unsafe.Offsetof(s.Open), 72}, {"line_state.far", unsafe.Offsetof(s.Far), 80},
		{"peer.in", unsafe.Offsetof(p.In), 88}, {"peer.out_busy", unsafe.Offsetof(p.OutBusy), 176},
		{"peer.in_busy", unsafe.Offsetof(p.InBusy), 184}, {"sizeof peer", unsafe.Sizeof(p), 192},
		{"request.source", unsafe.Offsetof(r.Source), 4}, {"request.tag", unsafe.Offsetof(r.Tag), 8},
		{"request.comm", unsafe.Offsetof(r.Comm), 12}, {"request.buf", unsafe.Offsetof(r.Buf), 16},
		{"request.size", unsafe.Offsetof(r.Size), 24}, {"request.bytes", unsafe.Offsetof(r.Bytes), 32},
		{"sizeof request", unsafe.Sizeof(r), 40}, {"requests", mpitransport.FastRequests, 256},
		{"lazy", mpitransport.FastLazy, 1}, {"done", mpitransport.FastDone, 2}, {"engine", mpitransport.FastEngine, 3},
		{"sizeof comm", unsafe.Sizeof(mpitransport.FastComm{}), 8},
		{"kind", uintptr(mpitransport.FastKind), 1},
		{"busy", mpitransport.FastBusy, 1}, {"counted", mpitransport.FastCounted, 2},
		{"pair.fast", unsafe.Offsetof(n.Fast), 16}, {"pair.received", unsafe.Offsetof(n.Received), 80},
		{"pair.puts", unsafe.Offsetof(n.Puts), 96}, {"sizeof pair", unsafe.Sizeof(n), 192},
	} {
		if c.go_ != c.inC {
			t.Errorf("%s: %d in Go, fast.h says %d", c.name, c.go_, c.inC)
		}
	}
}
