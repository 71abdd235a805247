//go:build !purego

package flush

import "unsafe"

// exactStores: MOVNTI and MASKMOVDQU are part of SSE2, which every amd64 has.
const exactStores = true

//go:noescape
func streamWord(dst unsafe.Pointer, x uint64)

//go:noescape
func streamHalf(dst unsafe.Pointer, x uint32)

//go:noescape
func streamMasked(block, data, mask unsafe.Pointer)

// streamBytes stores n > 0 bytes past the cache and touches no other byte. The
// write-combining buffer that collects them leaves with a mask of the bytes that
// were stored (Intel SDM volume 1, 10.4.6.2; AMD APM volume 2, 7.4).
func streamBytes(dst, src unsafe.Pointer, n int) {
	for {
		k := 8
		switch at := int(uintptr(dst) % 8); {
		case at == 0 && n >= 8:
			streamWord(dst, *(*uint64)(src))
		case at%4 == 0 && n >= 4:
			streamHalf(dst, *(*uint32)(src))
			k = 4
		default:
			k = min(8-at, n)
			streamOdd(dst, src, k)
		}
		if n -= k; n == 0 {
			return
		}
		dst, src = unsafe.Add(dst, k), unsafe.Add(src, k)
	}
}

// streamOdd stores n ≤ 8 bytes inside an aligned 8-byte word.
func streamOdd(dst, src unsafe.Pointer, n int) {
	var data, mask [16]byte
	at := int(uintptr(dst) % 16)
	for i := range n {
		data[at+i] = *(*byte)(unsafe.Add(src, i))
		mask[at+i] = 0x80
	}
	streamMasked(unsafe.Add(dst, -at), unsafe.Pointer(&data), unsafe.Pointer(&mask))
}
