//go:build purego || !amd64

package flush

import "unsafe"

// exactStores: arm64's non-temporal stores promise nothing about the bytes
// beside them.
const exactStores = false

func streamBytes(dst, src unsafe.Pointer, n int) {
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
}
