//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// func streamLines(how uintptr, dst, src unsafe.Pointer, lines int)
//
// Streams lines > 0 whole lines to the aligned address dst, past the cache,
// from src at any alignment. The lines become visible in any order until a
// store fence, which is the caller's.
TEXT ·streamLines(SB), NOSPLIT, $0-32
	MOVQ how+0(FP), BX
	MOVQ dst+8(FP), AX
	MOVQ src+16(FP), CX
	MOVQ lines+24(FP), DX
	CMPQ BX, $const_streamAVX512
	JEQ  avx512
	CMPQ BX, $const_streamAVX
	JEQ  avx
	CMPQ BX, $const_streamSSE
	JEQ  sse

words:
	MOVQ   0(CX), SI
	MOVQ   8(CX), DI
	MOVQ   16(CX), R8
	MOVQ   24(CX), R9
	MOVNTIQ SI, 0(AX)
	MOVNTIQ DI, 8(AX)
	MOVNTIQ R8, 16(AX)
	MOVNTIQ R9, 24(AX)
	MOVQ   32(CX), SI
	MOVQ   40(CX), DI
	MOVQ   48(CX), R8
	MOVQ   56(CX), R9
	MOVNTIQ SI, 32(AX)
	MOVNTIQ DI, 40(AX)
	MOVNTIQ R8, 48(AX)
	MOVNTIQ R9, 56(AX)
	ADDQ   $64, CX
	ADDQ   $64, AX
	DECQ   DX
	JNZ    words
	RET

sse:
	MOVOU  0(CX), X0
	MOVOU  16(CX), X1
	MOVOU  32(CX), X2
	MOVOU  48(CX), X3
	MOVNTO X0, 0(AX)
	MOVNTO X1, 16(AX)
	MOVNTO X2, 32(AX)
	MOVNTO X3, 48(AX)
	ADDQ   $64, CX
	ADDQ   $64, AX
	DECQ   DX
	JNZ    sse
	RET

avx:
	VMOVDQU  0(CX), Y0
	VMOVDQU  32(CX), Y1
	VMOVNTDQ Y0, 0(AX)
	VMOVNTDQ Y1, 32(AX)
	ADDQ     $64, CX
	ADDQ     $64, AX
	DECQ     DX
	JNZ      avx
	VZEROUPPER
	RET

avx512:
	VMOVDQU64 (CX), Z16
	VMOVNTDQ  Z16, (AX)
	ADDQ      $64, CX
	ADDQ      $64, AX
	DECQ      DX
	JNZ       avx512
	RET

// func copyWords(dst, src unsafe.Pointer, n int)
//
// Copies n >= 0 bytes with 8-byte (the rest with 1-byte) general registers.
TEXT ·copyWords(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), AX
	MOVQ src+8(FP), CX
	MOVQ n+16(FP), DX
	SUBQ $32, DX
	JL   few

// Four words at a time: one word a turn runs at half the speed.
four:
	MOVQ 0(CX), SI
	MOVQ 8(CX), DI
	MOVQ 16(CX), R8
	MOVQ 24(CX), R9
	MOVQ SI, 0(AX)
	MOVQ DI, 8(AX)
	MOVQ R8, 16(AX)
	MOVQ R9, 24(AX)
	ADDQ $32, CX
	ADDQ $32, AX
	SUBQ $32, DX
	JGE  four

few:
	ADDQ $24, DX
	JL   rest

words:
	MOVQ (CX), SI
	MOVQ SI, (AX)
	ADDQ $8, CX
	ADDQ $8, AX
	SUBQ $8, DX
	JGE  words

rest:
	ADDQ $8, DX
	JZ   done

bytes:
	MOVB (CX), SI
	MOVB SI, (AX)
	INCQ CX
	INCQ AX
	DECQ DX
	JNZ  bytes

done:
	RET
