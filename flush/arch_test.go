package flush

import (
	"testing"
	"unsafe"
)

// TestNoAllocation holds the primitives to their promise.
func TestNoAllocation(t *testing.T) {
	for _, va := range variants() {
		if va.mode == Emulate {
			continue
		}
		t.Run(va.name, func(t *testing.T) {
			v := newView(t, sharedMemory(t, 1<<16), va.mode, va.o)
			got := testing.AllocsPerRun(100, func() {
				var line [lineWords]uint64
				var buf [1000]byte
				p, b := unsafe.Pointer(&line), unsafe.Pointer(&buf)
				v.PutLine(v.Base(), p)
				v.GetLine(p, v.Base(), 1)
				v.PutLines(v.Base(), b, len(buf), 1)
				v.GetLines(b, v.Base(), len(buf), 1)
				v.Store64(v.Base(), v.Load64(v.Base())+v.Peek64(v.Base()))
				v.CopyIn(at(v, 1), b, len(buf))
				v.CopyOut(b, at(v, 1), len(buf))
				v.WriteBack(v.Base(), 100)
				v.Invalidate(v.Base(), 100)
				v.Fence()
				v.FullFence()
				Pause()
			})
			if got != 0 {
				t.Errorf("%v allocations per run, want 0", got)
			}
		})
	}
}

// TestEveryInstruction runs the line primitives with each way of publishing,
// looking and streaming that this CPU has, not only the chosen one.
func TestEveryInstruction(t *testing.T) {
	for _, c := range []struct {
		name string
		has  bool
		set  func(*plan)
	}{
		{"words", true, func(p *plan) { p.publish, p.look = publishWords, lookWords }},
		{"vector", true, func(p *plan) { p.publish, p.look = publishVector, lookVector }},
		{"ordered", true, func(p *plan) { p.publish, p.look = publishOrdered, lookFenced }},
		{"stream64", caps.AVX512, func(p *plan) { p.publish, p.linesNeedWriteBack = publishStream, false }},
		{"movdir64b", caps.MOVDIR64B, func(p *plan) { p.publish, p.linesNeedWriteBack = publishDirect, false }},
		{"clflush", caps.CLFLUSH, func(p *plan) { p.publish, p.writeBack, p.invalidate = publishVector, cacheFlush, cacheFlush }},
		{"clflushopt", caps.CLFLUSHOPT, func(p *plan) {
			p.publish, p.writeBack, p.invalidate = publishVector, cacheFlushOpt, cacheFlushOpt
		}},
		{"clwb", caps.CLWB, func(p *plan) { p.publish, p.writeBack = publishVector, cacheWriteBack }},
		{"movnti", true, func(p *plan) { p.stream = streamWords }},
		{"movntdq", true, func(p *plan) { p.stream = streamSSE }},
		{"vmovntdq32", caps.AVX2, func(p *plan) { p.stream = streamAVX }},
		{"vmovntdq64", caps.AVX512, func(p *plan) { p.stream = streamAVX512 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !c.has {
				t.Skipf("%s has no such instruction", caps.Arch)
			}
			m := sharedMemory(t, 1<<18)
			w, r := newView(t, m, Flush, Options{}), newView(t, m, Flush, Options{})
			w.plan.linesNeedWriteBack = true
			c.set(&w.plan)
			c.set(&r.plan)
			lineRoundTrip(t, w, r)
			linesRoundTrip(t, w, r)
			copyRoundTrip(t, w, r)
		})
	}
}

// TestCaps logs the choice, and checks that a choice exists with cache control.
func TestCaps(t *testing.T) {
	f := Caps()
	t.Log(f)
	if f.Arch != "generic" && (f.Publish == "" || f.WriteBack == "" || f.Invalidate == "" || f.Stream == "") {
		t.Errorf("something was not chosen: %+v", f)
	}
}
