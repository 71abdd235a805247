//go:build purego || (!amd64 && !arm64)

package flush

import (
	"sync/atomic"
	"unsafe"
)

// Pure Go has loads and stores but no cache instructions: right in Coherent and
// Emulate, and in Uncached where the language's own ordering suffices.

func detect() Features { return Features{Arch: "generic"} }

func bestPublish(bool) uintptr                      { return publishWords }
func bestCacheOps() (writeBack, invalidate uintptr) { return cacheNone, cacheNone }
func bestStream(bool) uintptr                       { return streamNone }

// instructions is empty: there are none.
func instructions() (publish, writeBack, invalidate, stream string) { return }

// putLine publishes the 64 bytes at src in the aligned line dst.
func putLine(_ uintptr, dst, src unsafe.Pointer) {
	copyWords(dst, src, LinePayload)
	store64(unsafe.Add(dst, wordOffset), *(*uint64)(unsafe.Add(src, wordOffset)))
}

// putLines publishes 56*lines bytes in lines with words word, word+1, ...
func putLines(_ uintptr, dst, src unsafe.Pointer, lines int, word uint64) {
	for range lines {
		copyWords(dst, src, LinePayload)
		store64(unsafe.Add(dst, wordOffset), word)
		dst, src, word = unsafe.Add(dst, LineSize), unsafe.Add(src, LinePayload), word+1
	}
}

// getLine copies the line at src to dst if its word is want.
func getLine(_ uintptr, dst, src unsafe.Pointer, want uint64) bool {
	if atomic.LoadUint64((*uint64)(unsafe.Add(src, wordOffset))) != want {
		return false
	}
	copyWords(dst, src, LinePayload)
	*(*uint64)(unsafe.Add(dst, wordOffset)) = want
	return true
}

// getLines copies payloads while the words are word, word+1, ...; it returns
// the number of lines that matched.
func getLines(_ uintptr, dst, src unsafe.Pointer, lines int, word uint64) int {
	for i := range lines {
		if atomic.LoadUint64((*uint64)(unsafe.Add(src, wordOffset))) != word {
			return i
		}
		copyWords(dst, src, LinePayload)
		dst, src, word = unsafe.Add(dst, LinePayload), unsafe.Add(src, LineSize), word+1
	}
	return lines
}

// copyWords copies n bytes by 8-byte words and then bytes.
func copyWords(dst, src unsafe.Pointer, n int) {
	i := 0
	for ; i+8 <= n; i += 8 {
		*(*uint64)(unsafe.Add(dst, i)) = *(*uint64)(unsafe.Add(src, i))
	}
	for ; i < n; i++ {
		*(*byte)(unsafe.Add(dst, i)) = *(*byte)(unsafe.Add(src, i))
	}
}

func streamLines(_ uintptr, dst, src unsafe.Pointer, lines int) {
	copyWords(dst, src, lines*LineSize)
}

func cacheLines(uintptr, unsafe.Pointer, int)      {}
func invalidateLines(uintptr, unsafe.Pointer, int) {}

func store64(p unsafe.Pointer, x uint64) { atomic.StoreUint64((*uint64)(p), x) }

func casRaw(p *uint64, old, new uint64) bool { return atomic.CompareAndSwapUint64(p, old, new) }

// fenceWord is what the fences exchange: a sequentially consistent
// read-modify-write is the strongest order that the language offers.
var fenceWord atomic.Uint64

func storeFence() { fenceWord.Add(1) }
func loadFence()  {}
func fullFence()  { fenceWord.Add(1) }
func pause()      {}
