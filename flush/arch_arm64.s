//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// The arm64 memory model is weak: a word is published with a release (STLR) and
// looked at with an acquire (LDAR). The full system is the domain of everything
// that crosses hosts, so cache maintenance completes with DSB SY.

#define DMB_ISHLD DMB $9
#define DSB_SY    DSB $15

// func putLine(how uintptr, dst, src unsafe.Pointer)
TEXT ·putLine(SB), NOSPLIT, $0-24
	MOVD dst+8(FP), R0
	MOVD src+16(FP), R1
	LDP  0(R1), (R2, R3)
	LDP  16(R1), (R4, R5)
	LDP  32(R1), (R6, R7)
	LDP  48(R1), (R8, R9)
	STP  (R2, R3), 0(R0)
	STP  (R4, R5), 16(R0)
	STP  (R6, R7), 32(R0)
	MOVD R8, 48(R0)
	ADD  $56, R0, R10
	STLR R9, (R10)
	RET

// func putLines(how uintptr, dst, src unsafe.Pointer, lines int, word uint64)
TEXT ·putLines(SB), NOSPLIT, $0-40
	MOVD dst+8(FP), R0
	MOVD src+16(FP), R1
	MOVD lines+24(FP), R11
	MOVD word+32(FP), R9

line:
	LDP  0(R1), (R2, R3)
	LDP  16(R1), (R4, R5)
	LDP  32(R1), (R6, R7)
	MOVD 48(R1), R8
	STP  (R2, R3), 0(R0)
	STP  (R4, R5), 16(R0)
	STP  (R6, R7), 32(R0)
	MOVD R8, 48(R0)
	ADD  $56, R0, R10
	STLR R9, (R10)
	ADD  $56, R1
	ADD  $64, R0
	ADD  $1, R9
	SUBS $1, R11
	BNE  line
	RET

// func getLine(how uintptr, dst, src unsafe.Pointer, want uint64) bool
TEXT ·getLine(SB), NOSPLIT, $0-33
	MOVD dst+8(FP), R0
	MOVD src+16(FP), R1
	MOVD want+24(FP), R9
	ADD  $56, R1, R10
	LDAR (R10), R11
	CMP  R9, R11
	BNE  other
	LDP  0(R1), (R2, R3)
	LDP  16(R1), (R4, R5)
	LDP  32(R1), (R6, R7)
	MOVD 48(R1), R8
	STP  (R2, R3), 0(R0)
	STP  (R4, R5), 16(R0)
	STP  (R6, R7), 32(R0)
	STP  (R8, R9), 48(R0)
	MOVD $1, R2
	MOVB R2, ret+32(FP)
	RET

other:
	MOVB ZR, ret+32(FP)
	RET

// func getLines(how uintptr, dst, src unsafe.Pointer, lines int, word uint64) int
TEXT ·getLines(SB), NOSPLIT, $0-48
	MOVD dst+8(FP), R0
	MOVD src+16(FP), R1
	MOVD lines+24(FP), R12
	MOVD word+32(FP), R9
	MOVD $0, R13

line:
	ADD  $56, R1, R10
	LDAR (R10), R11
	CMP  R9, R11
	BNE  done
	LDP  0(R1), (R2, R3)
	LDP  16(R1), (R4, R5)
	LDP  32(R1), (R6, R7)
	MOVD 48(R1), R8
	STP  (R2, R3), 0(R0)
	STP  (R4, R5), 16(R0)
	STP  (R6, R7), 32(R0)
	MOVD R8, 48(R0)
	ADD  $64, R1
	ADD  $56, R0
	ADD  $1, R9
	ADD  $1, R13
	CMP  R12, R13
	BNE  line

done:
	MOVD R13, ret+40(FP)
	RET

// func cacheLines(op uintptr, p unsafe.Pointer, lines int)
//
// Cleans (cacheWriteBack) or cleans and invalidates (cacheFlush) lines > 0
// lines to the point of coherency. A DC by address is ordered after earlier
// stores to the same line; it completes with the caller's DSB. The loop steps
// by 64 bytes: on a CPU with longer lines it does the same line twice.
TEXT ·cacheLines(SB), NOSPLIT, $0-24
	MOVD op+0(FP), R2
	MOVD p+8(FP), R0
	MOVD lines+16(FP), R1
	CMP  $const_cacheWriteBack, R2
	BNE  civac

cvac:
	DC   CVAC, R0
	ADD  $64, R0
	SUBS $1, R1
	BNE  cvac
	RET

civac:
	DC   CIVAC, R0
	ADD  $64, R0
	SUBS $1, R1
	BNE  civac
	RET

// func invalidateLines(op uintptr, p unsafe.Pointer, lines int)
//
// The DSB in front keeps the maintenance behind the load that called for it;
// the one behind completes it before any later load.
TEXT ·invalidateLines(SB), NOSPLIT, $0-24
	MOVD p+8(FP), R0
	MOVD lines+16(FP), R1
	DSB_SY

line:
	DC   CIVAC, R0
	ADD  $64, R0
	SUBS $1, R1
	BNE  line
	DSB_SY
	RET

// func streamLines(how uintptr, dst, src unsafe.Pointer, lines int)
//
// Stores lines > 0 whole lines and cleans each at once, so that the cleaning
// overlaps the copying.
TEXT ·streamLines(SB), NOSPLIT, $0-32
	MOVD dst+8(FP), R0
	MOVD src+16(FP), R1
	MOVD lines+24(FP), R11

line:
	LDP  0(R1), (R2, R3)
	LDP  16(R1), (R4, R5)
	LDP  32(R1), (R6, R7)
	LDP  48(R1), (R8, R9)
	STP  (R2, R3), 0(R0)
	STP  (R4, R5), 16(R0)
	STP  (R6, R7), 32(R0)
	STP  (R8, R9), 48(R0)
	DC   CVAC, R0
	ADD  $64, R0
	ADD  $64, R1
	SUBS $1, R11
	BNE  line
	RET

// func copyWords(dst, src unsafe.Pointer, n int)
TEXT ·copyWords(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	SUBS $8, R2
	BLT  rest

words:
	MOVD.P 8(R1), R3
	MOVD.P R3, 8(R0)
	SUBS   $8, R2
	BGE    words

rest:
	ADDS $8, R2
	BEQ  done

bytes:
	MOVBU.P 1(R1), R3
	MOVB.P  R3, 1(R0)
	SUBS    $1, R2
	BNE     bytes

done:
	RET

// func storeFence()
TEXT ·storeFence(SB), NOSPLIT, $0-0
	DSB_SY
	RET

// func loadFence()
TEXT ·loadFence(SB), NOSPLIT, $0-0
	DMB_ISHLD
	RET

// func fullFence()
TEXT ·fullFence(SB), NOSPLIT, $0-0
	DSB_SY
	RET

// func pause()
TEXT ·pause(SB), NOSPLIT, $0-0
	YIELD
	RET
