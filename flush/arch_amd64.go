//go:build !purego

package flush

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// The assembly below this package's View. Contracts stand above each TEXT in
// the .s files. None of them keeps a pointer.

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

//go:noescape
func store64(p unsafe.Pointer, x uint64)

//go:noescape
func casRaw(p *uint64, old, new uint64) bool

func storeFence()
func loadFence()
func fullFence()
func pause()

// cpuid returns the four registers of CPUID for a leaf and sub-leaf.
func cpuid(leaf, sub uint32) (eax, ebx, ecx, edx uint32)

// detect asks the CPU. x/sys/cpu has checked with XGETBV that the operating
// system saves the wide registers; what it does not know comes from CPUID leaf
// 1 (CLFLUSH) and leaf 7 (the rest), Intel SDM volume 2A, table 3-17.
func detect() Features {
	f := Features{
		Arch:   "amd64",
		AVX2:   cpu.X86.HasAVX2,
		AVX512: cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL,
	}
	top, _, _, _ := cpuid(0, 0)
	_, _, _, edx := cpuid(1, 0)
	f.CLFLUSH = edx&(1<<19) != 0
	if top >= 7 {
		_, ebx, ecx, _ := cpuid(7, 0)
		f.CLFLUSHOPT = ebx&(1<<23) != 0
		f.CLWB = ebx&(1<<24) != 0
		f.MOVDIR64B = ecx&(1<<28) != 0
	}
	return f
}

func bestPublish(noVector bool) uintptr {
	switch {
	case noVector:
		return publishWords
	case caps.MOVDIR64B:
		return publishDirect
	case caps.AVX512:
		return publishStream
	default:
		return publishVector
	}
}

func bestCacheOps() (writeBack, invalidate uintptr) {
	writeBack, invalidate = cacheFlush, cacheFlush
	if caps.CLFLUSHOPT {
		writeBack, invalidate = cacheFlushOpt, cacheFlushOpt
	}
	if caps.CLWB {
		writeBack = cacheWriteBack
	}
	return writeBack, invalidate
}

func bestStream(noVector bool) uintptr {
	switch {
	case noVector:
		return streamWords
	case caps.AVX512:
		return streamAVX512
	case caps.AVX2:
		return streamAVX
	default:
		return streamSSE
	}
}

// instructions names what Flush uses when vectors are allowed.
func instructions() (publish, writeBack, invalidate, stream string) {
	publish = [...]string{
		publishVector: "16-byte stores",
		publishStream: "64-byte streaming store",
		publishDirect: "movdir64b",
	}[bestPublish(false)]
	stream = [...]string{
		streamSSE:    "movntdq 16",
		streamAVX:    "vmovntdq 32",
		streamAVX512: "vmovntdq 64",
	}[bestStream(false)]
	cache := [...]string{cacheFlush: "clflush", cacheFlushOpt: "clflushopt", cacheWriteBack: "clwb"}
	w, i := bestCacheOps()
	return publish, cache[w], cache[i], stream
}
