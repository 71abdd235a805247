//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// func cacheLines(op uintptr, p unsafe.Pointer, lines int)
//
// Writes back (and with CLFLUSH, CLFLUSHOPT also drops) lines > 0 lines from
// the aligned address p. CLWB and CLFLUSHOPT are ordered after older stores to
// the same line, and before later stores only by a fence, which is the caller's.
TEXT ·cacheLines(SB), NOSPLIT, $0-24
	MOVQ op+0(FP), AX
	MOVQ p+8(FP), DI
	MOVQ lines+16(FP), CX
	CMPQ AX, $const_cacheWriteBack
	JEQ  clwb
	CMPQ AX, $const_cacheFlushOpt
	JEQ  clflushopt

clflush:
	CLFLUSH (DI)
	ADDQ    $64, DI
	DECQ    CX
	JNZ     clflush
	RET

clflushopt:
	CLFLUSHOPT (DI)
	ADDQ       $64, DI
	DECQ       CX
	JNZ        clflushopt
	RET

clwb:
	CLWB (DI)
	ADDQ $64, DI
	DECQ CX
	JNZ  clwb
	RET

// func invalidateLines(op uintptr, p unsafe.Pointer, lines int)
//
// Drops lines > 0 lines from the aligned address p. LFENCE: CLFLUSHOPT is not
// ordered after older loads, so without it the flush could run before the load
// that told the caller that there is something new, and a prefetch in between
// could bring the old bytes back. MFENCE: later loads wait for the flush.
TEXT ·invalidateLines(SB), NOSPLIT, $0-24
	MOVQ op+0(FP), AX
	MOVQ p+8(FP), DI
	MOVQ lines+16(FP), CX
	LFENCE
	CMPQ AX, $const_cacheFlushOpt
	JEQ  clflushopt

clflush:
	CLFLUSH (DI)
	ADDQ    $64, DI
	DECQ    CX
	JNZ     clflush
	MFENCE
	RET

clflushopt:
	CLFLUSHOPT (DI)
	ADDQ       $64, DI
	DECQ       CX
	JNZ        clflushopt
	MFENCE
	RET
