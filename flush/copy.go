package flush

import "unsafe"

// CopyIn copies n bytes from private memory to shared memory, at any alignment.
// They are visible to others after Fence. Whole lines are streamed past the
// cache in Flush and Uncached; the first and last partial line are stored and
// written back, and so must have no other writer.
func (v *View) CopyIn(dst, src unsafe.Pointer, n int) {
	if n <= 0 {
		return
	}
	if v.emu != nil {
		v.published(linesIn(dst, n))
		v.emu.copyIn(dst, src, n)
		return
	}
	if v.plan.stream == streamNone {
		v.copyPlain(dst, src, n)
		return
	}
	if head := int(-uintptr(dst) % LineSize); head > 0 {
		head = min(head, n)
		v.copyPlain(dst, src, head)
		v.WriteBack(dst, head)
		if n -= head; n == 0 {
			return // an address behind the buffer must not even be formed
		}
		dst, src = unsafe.Add(dst, head), unsafe.Add(src, head)
	}
	if lines := n / LineSize; lines > 0 {
		v.published(lines)
		streamLines(v.plan.stream, dst, src, lines)
		if n %= LineSize; n == 0 {
			return
		}
		dst, src = unsafe.Add(dst, lines*LineSize), unsafe.Add(src, lines*LineSize)
	}
	v.copyPlain(dst, src, n)
	v.WriteBack(dst, n)
}

// copyOutBlock is how far CopyOut invalidates ahead of the copying: the flush of
// a block then overlaps with the copy of the one before. On a Zen 4 server, of
// 4 MiB just streamed in, blocks of 4, 16, 64 KiB ran at 11, 19, 23 GB/s (best
// of nine), against 15 with one block; 64 KiB also stays well below the L2.
const copyOutBlock = 64 << 10

// CopyOut copies n bytes from shared memory to private memory, at any
// alignment, after invalidating them where the mode needs it.
func (v *View) CopyOut(dst, src unsafe.Pointer, n int) {
	if n <= 0 {
		return
	}
	v.invalidated(linesIn(src, n))
	if v.emu != nil {
		v.emu.copyOut(dst, src, n)
		return
	}
	if v.plan.invalidate == cacheNone {
		v.copyPlain(dst, src, n)
		return
	}
	m := min(n, copyOutBlock-int(uintptr(src)%LineSize))
	invalidateLines(v.plan.invalidate, lineOf(src), linesIn(src, m))
	for {
		ahead := min(n-m, copyOutBlock)
		if ahead > 0 {
			cacheLines(v.plan.invalidate, unsafe.Add(src, m), linesIn(unsafe.Add(src, m), ahead))
		}
		v.copyPlain(dst, src, m)
		if ahead == 0 {
			return
		}
		fullFence() // completes the flush of the next block before its first load
		dst, src, n, m = unsafe.Add(dst, m), unsafe.Add(src, m), n-m, ahead
	}
}

// copyPlain copies with ordinary loads and stores, by words where vector
// registers are forbidden (the runtime's own copy uses them).
func (v *View) copyPlain(dst, src unsafe.Pointer, n int) {
	if v.plan.wordCopy {
		copyWords(dst, src, n)
		return
	}
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
}
