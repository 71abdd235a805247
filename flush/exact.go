package flush

import "unsafe"

// Exact reports whether CopyExact is: whether the CPU has stores past the cache
// that carry which bytes they change. In Flush that takes SSE2 and a memory that
// takes such partial writes, as DDR controllers and CXL.mem devices do
// (MemWrPtl); the second can't be seen from here.
func (v *View) Exact() bool {
	return v.mode != Flush || exactStores && !v.plan.wordCopy
}

// CopyExact is CopyIn that changes no byte beside [dst, dst+n), so that the lines
// at both ends may have other writers, of other bytes. They are visible to others
// after Fence. The range must not be dirty in this host's caches. Where Exact is
// false it is CopyIn.
func (v *View) CopyExact(dst, src unsafe.Pointer, n int) {
	if n <= 0 {
		return
	}
	switch {
	case v.emu != nil:
		v.published(linesIn(dst, n))
		v.emu.copyExact(dst, src, n)
		return
	case v.mode != Flush:
		v.copyPlain(dst, src, n)
		return
	case !exactStores || v.plan.wordCopy:
		v.CopyIn(dst, src, n)
		return
	}
	v.published(linesIn(dst, n))
	if head := int(-uintptr(dst) % LineSize); head > 0 || n < LineSize {
		if head == 0 || head > n {
			head = n
		}
		streamBytes(dst, src, head)
		if n -= head; n == 0 {
			return
		}
		dst, src = unsafe.Add(dst, head), unsafe.Add(src, head)
	}
	if lines := n / LineSize; lines > 0 {
		streamLines(v.plan.stream, dst, src, lines)
		if n %= LineSize; n == 0 {
			return
		}
		dst, src = unsafe.Add(dst, lines*LineSize), unsafe.Add(src, lines*LineSize)
	}
	streamBytes(dst, src, n)
}
