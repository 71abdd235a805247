package window

import (
	"sync/atomic"
	"unsafe"
)

// loadElem is an element of 1, 2, 4 or 8 bytes, at any alignment, in the low
// bytes of a word.
func loadElem(p unsafe.Pointer, size int64) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

func storeElem(p unsafe.Pointer, x uint64, size int64) {
	switch size {
	case 1:
		*(*uint8)(p) = uint8(x)
	case 2:
		*(*uint16)(p) = uint16(x)
	case 4:
		*(*uint32)(p) = uint32(x)
	default:
		*(*uint64)(p) = x
	}
}

// atomicUpdate combines operand into the aligned element at p by CPU atomics and
// returns what the element was. e.atomicKind() must hold.
func atomicUpdate(e Elem, op Op, p unsafe.Pointer, operand uint64) uint64 {
	size := int64(elemInfos[e].size)
	integer := elemInfos[e].family == integers
	switch size {
	case 8:
		a := (*uint64)(p)
		switch {
		case op == OpNoOp:
			return atomic.LoadUint64(a)
		case op == OpReplace:
			return atomic.SwapUint64(a, operand)
		case op == OpSum && integer:
			return atomic.AddUint64(a, operand) - operand
		}
		for {
			old := atomic.LoadUint64(a)
			if atomic.CompareAndSwapUint64(a, old, combineWord(e, op, old, operand)) {
				return old
			}
		}
	case 4:
		a := (*uint32)(p)
		switch {
		case op == OpNoOp:
			return uint64(atomic.LoadUint32(a))
		case op == OpReplace:
			return uint64(atomic.SwapUint32(a, uint32(operand)))
		case op == OpSum && integer:
			return uint64(atomic.AddUint32(a, uint32(operand)) - uint32(operand))
		}
		for {
			old := atomic.LoadUint32(a)
			if atomic.CompareAndSwapUint32(a, old, uint32(combineWord(e, op, uint64(old), operand))) {
				return uint64(old)
			}
		}
	}
	for {
		around, old, shift := loadSmall(p, size)
		if op == OpNoOp {
			return old
		}
		if swapSmall(p, size, around, combineWord(e, op, old, operand), shift) {
			return old
		}
	}
}

// updateBlock is how many words atomicUpdateRun combines at a time.
const updateBlock = 64

// atomicUpdateRun is atomicUpdate of n bytes of aligned elements. It combines
// blocks of words aside and swaps each word in: as many elements at a time as a
// word has, and none that stay as they were.
func atomicUpdateRun(e Elem, op Op, dst, src unsafe.Pointer, n int64) {
	size := int64(elemInfos[e].size)
	// done bytes are updated. It is an offset, as a pointer behind the last
	// element may not be made.
	done := int64(0)
	single := func(bytes int64) {
		for end := done + bytes; done < end; done += size {
			atomicUpdate(e, op, unsafe.Add(dst, done), loadElem(unsafe.Add(src, done), size))
		}
	}
	single(min(n, -int64(uintptr(dst))&7))
	var was, now [updateBlock]uint64
	for n-done >= 8 {
		words := min((n-done)/8, updateBlock)
		for i := range words {
			was[i] = atomic.LoadUint64((*uint64)(unsafe.Add(dst, done+8*i)))
		}
		copy(now[:words], was[:words])
		combine(e, op, unsafe.Pointer(&now), unsafe.Add(src, done), int(8*words/size))
		for i := range words {
			if now[i] == was[i] || atomic.CompareAndSwapUint64((*uint64)(unsafe.Add(dst, done)), was[i], now[i]) {
				done += 8
			} else { // somebody else updates the same word
				single(8)
			}
		}
	}
	single(n - done)
}

// atomicSwap stores new in the aligned element at p if it equals want, and
// returns what it was.
func atomicSwap(p unsafe.Pointer, size int64, want, new uint64) uint64 {
	for {
		switch size {
		case 8:
			old := atomic.LoadUint64((*uint64)(p))
			if old != want || atomic.CompareAndSwapUint64((*uint64)(p), old, new) {
				return old
			}
		case 4:
			old := atomic.LoadUint32((*uint32)(p))
			if uint64(old) != want || atomic.CompareAndSwapUint32((*uint32)(p), old, uint32(new)) {
				return uint64(old)
			}
		default:
			around, old, shift := loadSmall(p, size)
			if old != want || swapSmall(p, size, around, new, shift) {
				return old
			}
		}
	}
}

// An element of 1 or 2 bytes is updated in the 4 aligned bytes around it (little
// endian), which lie in the same segment's line. Stores to the other bytes
// meanwhile make the swap fail, and it is tried again.

// loadSmall loads what is around the element, the element itself, and says how
// many bits it is shifted.
func loadSmall(p unsafe.Pointer, size int64) (around uint32, old uint64, shift uint) {
	in := uintptr(p) % 4
	shift = uint(in) * 8
	around = atomic.LoadUint32((*uint32)(unsafe.Add(p, -int(in))))
	return around, uint64(around>>shift) & (1<<(8*size) - 1), shift
}

func swapSmall(p unsafe.Pointer, size int64, around uint32, x uint64, shift uint) bool {
	mask := uint32(1<<(8*size)-1) << shift
	next := around&^mask | uint32(x)<<shift&mask
	return atomic.CompareAndSwapUint32((*uint32)(unsafe.Add(p, -int(uintptr(p)%4))), around, next)
}
