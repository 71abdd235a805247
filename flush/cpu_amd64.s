//go:build !purego

#include "textflag.h"

// func cpuid(leaf, sub uint32) (eax, ebx, ecx, edx uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL sub+4(FP), CX
	CPUID
	MOVL AX, eax+8(FP)
	MOVL BX, ebx+12(FP)
	MOVL CX, ecx+16(FP)
	MOVL DX, edx+20(FP)
	RET

// func storeFence()
// Orders earlier stores, streaming stores and CLWB/CLFLUSHOPT before later ones.
TEXT ·storeFence(SB), NOSPLIT, $0-0
	SFENCE
	RET

// func loadFence()
// No later load begins before the earlier ones have their value.
TEXT ·loadFence(SB), NOSPLIT, $0-0
	LFENCE
	RET

// func fullFence()
// Everything earlier is globally visible before anything later begins.
TEXT ·fullFence(SB), NOSPLIT, $0-0
	MFENCE
	RET

// func pause()
TEXT ·pause(SB), NOSPLIT, $0-0
	PAUSE
	RET

// func store64(p unsafe.Pointer, x uint64)
// An x86 store is a release store; the call keeps the compiler from moving it.
TEXT ·store64(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), DI
	MOVQ x+8(FP), AX
	MOVQ AX, (DI)
	RET

// func casRaw(p *uint64, old, new uint64) bool
// Compare and swap that the race detector does not see; Emulate uses it on the
// private memory that plays the cache, where it stands for the hardware.
TEXT ·casRaw(SB), NOSPLIT, $0-25
	MOVQ     p+0(FP), DI
	MOVQ     old+8(FP), AX
	MOVQ     new+16(FP), CX
	LOCK
	CMPXCHGQ CX, (DI)
	SETEQ    ret+24(FP)
	RET
