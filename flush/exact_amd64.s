//go:build !purego

#include "textflag.h"

// func streamWord(dst unsafe.Pointer, x uint64)
// Stores 8 bytes at the aligned address dst, past the cache.
TEXT ·streamWord(SB), NOSPLIT, $0-16
	MOVQ    dst+0(FP), DI
	MOVQ    x+8(FP), AX
	MOVNTIQ AX, (DI)
	RET

// func streamHalf(dst unsafe.Pointer, x uint32)
// Stores 4 bytes at the aligned address dst, past the cache.
TEXT ·streamHalf(SB), NOSPLIT, $0-12
	MOVQ    dst+0(FP), DI
	MOVL    x+8(FP), AX
	MOVNTIL AX, (DI)
	RET

// func streamMasked(block, data, mask unsafe.Pointer)
// Stores those of 16 bytes whose mask byte has its top bit set, past the cache.
// All three are aligned or not; block should be.
TEXT ·streamMasked(SB), NOSPLIT, $0-24
	MOVQ  block+0(FP), DI
	MOVQ  data+8(FP), AX
	MOVQ  mask+16(FP), CX
	MOVOU (AX), X0
	MOVOU (CX), X1
	MASKMOVOU X1, X0
	RET
