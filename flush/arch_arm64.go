//go:build !purego

package flush

import (
	"sync/atomic"
	"unsafe"
)

//go:noescape
func putLine(how uintptr, dst, src unsafe.Pointer)

//go:noescape
func putLines(how uintptr, dst, src unsafe.Pointer, lines int, word uint64)

//go:noescape
func getLine(how uintptr, dst, src unsafe.Pointer, want uint64) bool

//go:noescape
func getLines(how uintptr, dst, src unsafe.Pointer, lines int, word uint64) int

//go:noescape
func cacheLines(op uintptr, p unsafe.Pointer, lines int)

//go:noescape
func invalidateLines(op uintptr, p unsafe.Pointer, lines int)

//go:noescape
func streamLines(how uintptr, dst, src unsafe.Pointer, lines int)

//go:noescape
func copyWords(dst, src unsafe.Pointer, n int)

func storeFence()
func loadFence()
func fullFence()
func pause()

// store64 is a release store; the language's own is the right instruction.
func store64(p unsafe.Pointer, x uint64) { atomic.StoreUint64((*uint64)(p), x) }

func casRaw(p *uint64, old, new uint64) bool { return atomic.CompareAndSwapUint64(p, old, new) }

// detect has nothing to ask: Linux lets user space clean and invalidate by
// address to the point of coherency on every arm64 (SCTLR_EL1.UCI).
func detect() Features { return Features{Arch: "arm64"} }

// bestPublish is ordinary stores and a write-back: STNP gives no guarantee of
// leaving as a whole line, and ST64B does not reach normal memory.
func bestPublish(bool) uintptr                      { return publishWords }
func bestCacheOps() (writeBack, invalidate uintptr) { return cacheWriteBack, cacheFlush }

// bestStream is store and clean line by line, behind the same door.
func bestStream(bool) uintptr { return streamWords }

// instructions names what Flush uses.
func instructions() (publish, writeBack, invalidate, stream string) {
	return "stp and stlr", "dc cvac", "dc civac", "stp and dc cvac"
}
