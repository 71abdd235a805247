//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// A flagged line: 56 bytes of payload, then an 8-byte word. Whoever sees the
// word must see the payload.
//
// Ordinary stores: x86 makes stores visible in program order, so the word goes
// last; if the cache evicts the line early, what leaves is a prefix of them.
//
// One 64-byte streaming store: the CPU may split it (Zen 4 makes two 32-byte
// halves) and a write-combining buffer may be evicted half full. The halves
// enter the buffer lower one first and the word is in the upper one; if the
// lower half leaves alone the word is still the old one, and the upper half
// follows in a later write to the same line, which one home agent serves in
// the order in which this core sent them. So the word never leads.
//
// One MOVDIR64B: 64 bytes, written as one by definition.

// MOVDIR64B_CX_AX is MOVDIR64B AX, (CX): 64 bytes from (CX) to (AX).
#define MOVDIR64B_CX_AX BYTE $0x66; BYTE $0x0F; BYTE $0x38; BYTE $0xF8; BYTE $0x01

// func putLine(how uintptr, dst, src unsafe.Pointer)
//
// Publishes the 64 bytes at src in the aligned line dst.
TEXT ·putLine(SB), NOSPLIT, $0-24
	MOVQ how+0(FP), BX
	MOVQ dst+8(FP), AX
	MOVQ src+16(FP), CX
	CMPQ BX, $const_publishStream
	JEQ  stream
	CMPQ BX, $const_publishVector
	JEQ  vector
	CMPQ BX, $const_publishDirect
	JEQ  direct

	MOVQ 0(CX), DX
	MOVQ 8(CX), SI
	MOVQ 16(CX), DI
	MOVQ 24(CX), R8
	MOVQ 32(CX), R9
	MOVQ 40(CX), R10
	MOVQ 48(CX), R11
	MOVQ 56(CX), R12
	MOVQ DX, 0(AX)
	MOVQ SI, 8(AX)
	MOVQ DI, 16(AX)
	MOVQ R8, 24(AX)
	MOVQ R9, 32(AX)
	MOVQ R10, 40(AX)
	MOVQ R11, 48(AX)
	CMPQ BX, $const_publishOrdered
	JNE  word
	SFENCE

word:
	MOVQ R12, 56(AX)
	RET

vector:
	MOVOU 0(CX), X0
	MOVOU 16(CX), X1
	MOVOU 32(CX), X2
	MOVQ  48(CX), R11
	MOVQ  56(CX), R12
	MOVOU X0, 0(AX)
	MOVOU X1, 16(AX)
	MOVOU X2, 32(AX)
	MOVQ  R11, 48(AX)
	MOVQ  R12, 56(AX)
	RET

stream:
	VMOVDQU64 (CX), Z16 // Z16 and above need no VZEROUPPER
	VMOVNTDQ  Z16, (AX)
	RET

direct:
	MOVDIR64B_CX_AX
	RET

// func putLines(how uintptr, dst, src unsafe.Pointer, lines int, word uint64)
//
// Publishes 56*lines bytes, lines > 0, in consecutive lines with words word,
// word+1, ... and reads nothing beyond src+56*lines.
TEXT ·putLines(SB), NOSPLIT, $64-40
	MOVQ how+0(FP), BX
	MOVQ dst+8(FP), AX
	MOVQ src+16(FP), CX
	MOVQ lines+24(FP), DX
	MOVQ word+32(FP), SI
	CMPQ BX, $const_publishStream
	JEQ  stream
	CMPQ BX, $const_publishVector
	JEQ  vector
	CMPQ BX, $const_publishDirect
	JEQ  direct

words:
	MOVQ 0(CX), DI
	MOVQ 8(CX), R8
	MOVQ 16(CX), R9
	MOVQ 24(CX), R10
	MOVQ 32(CX), R11
	MOVQ 40(CX), R12
	MOVQ 48(CX), R13
	MOVQ DI, 0(AX)
	MOVQ R8, 8(AX)
	MOVQ R9, 16(AX)
	MOVQ R10, 24(AX)
	MOVQ R11, 32(AX)
	MOVQ R12, 40(AX)
	MOVQ R13, 48(AX)
	CMPQ BX, $const_publishOrdered
	JNE  word
	SFENCE

word:
	MOVQ SI, 56(AX)
	ADDQ $56, CX
	ADDQ $64, AX
	INCQ SI
	DECQ DX
	JNZ  words
	RET

vector:
	MOVOU 0(CX), X0
	MOVOU 16(CX), X1
	MOVOU 32(CX), X2
	MOVQ  48(CX), R11
	MOVOU X0, 0(AX)
	MOVOU X1, 16(AX)
	MOVOU X2, 32(AX)
	MOVQ  R11, 48(AX)
	MOVQ  SI, 56(AX)
	ADDQ  $56, CX
	ADDQ  $64, AX
	INCQ  SI
	DECQ  DX
	JNZ   vector
	RET

stream:
	// K1 selects the seven words of payload, K2 the flag word. Masked-off
	// elements are not read, so the load never leaves the caller's buffer.
	MOVL  $0x7F, DI
	KMOVW DI, K1
	MOVL  $0x80, DI
	KMOVW DI, K2

streamLine:
	VMOVDQU64.Z  (CX), K1, Z16
	VPBROADCASTQ SI, K2, Z16
	VMOVNTDQ     Z16, (AX)
	ADDQ         $56, CX
	ADDQ         $64, AX
	INCQ         SI
	DECQ         DX
	JNZ          streamLine
	RET

direct:
	MOVQ CX, R9       // source
	MOVQ SP, CX       // the line is put together in this frame

directLine:
	MOVOU 0(R9), X0
	MOVOU 16(R9), X1
	MOVOU 32(R9), X2
	MOVQ  48(R9), R11
	MOVOU X0, 0(CX)
	MOVOU X1, 16(CX)
	MOVOU X2, 32(CX)
	MOVQ  R11, 48(CX)
	MOVQ  SI, 56(CX)
	MOVDIR64B_CX_AX
	ADDQ  $56, R9
	ADDQ  $64, AX
	INCQ  SI
	DECQ  DX
	JNZ   directLine
	RET

// func getLine(how uintptr, dst, src unsafe.Pointer, want uint64) bool
//
// Loads the word of the aligned line src, and if it is want copies the line to
// dst. x86 does not reorder loads from write-back memory, so the payload is
// not older than the word; from write-combining memory loads may be reordered,
// which lookFenced prevents.
TEXT ·getLine(SB), NOSPLIT, $0-33
	MOVQ src+16(FP), CX
	MOVQ want+24(FP), DX
	MOVQ dst+8(FP), AX
	MOVQ how+0(FP), BX
	CMPQ DX, 56(CX)
	JNE  other
	CMPQ BX, $const_lookVector
	JNE  words
	MOVOU 0(CX), X0
	MOVOU 16(CX), X1
	MOVOU 32(CX), X2
	MOVQ  48(CX), R11
	MOVOU X0, 0(AX)
	MOVOU X1, 16(AX)
	MOVOU X2, 32(AX)
	MOVQ  R11, 48(AX)
	MOVQ  DX, 56(AX)
	MOVB  $1, ret+32(FP)
	RET

words:
	CMPQ BX, $const_lookFenced
	JNE  load
	LFENCE

load:
	MOVQ 0(CX), SI
	MOVQ 8(CX), DI
	MOVQ 16(CX), R8
	MOVQ 24(CX), R9
	MOVQ 32(CX), R10
	MOVQ 40(CX), R11
	MOVQ 48(CX), R12
	MOVQ SI, 0(AX)
	MOVQ DI, 8(AX)
	MOVQ R8, 16(AX)
	MOVQ R9, 24(AX)
	MOVQ R10, 32(AX)
	MOVQ R11, 40(AX)
	MOVQ R12, 48(AX)
	MOVQ DX, 56(AX)
	MOVB $1, ret+32(FP)
	RET

other:
	MOVB $0, ret+32(FP)
	RET

// func getLines(how uintptr, dst, src unsafe.Pointer, lines int, word uint64) int
//
// Copies the payload of up to lines > 0 consecutive lines for as long as their
// words are word, word+1, ...; returns the number of lines copied. Writes
// nothing beyond dst+56 times that.
TEXT ·getLines(SB), NOSPLIT, $0-48
	MOVQ how+0(FP), BX
	MOVQ dst+8(FP), AX
	MOVQ src+16(FP), CX
	MOVQ lines+24(FP), DX
	MOVQ word+32(FP), SI
	CMPQ BX, $const_lookVector
	JNE  words

vector:
	CMPQ  SI, 56(CX)
	JNE   done
	MOVOU 0(CX), X0
	MOVOU 16(CX), X1
	MOVOU 32(CX), X2
	MOVQ  48(CX), R11
	MOVOU X0, 0(AX)
	MOVOU X1, 16(AX)
	MOVOU X2, 32(AX)
	MOVQ  R11, 48(AX)
	ADDQ  $64, CX
	ADDQ  $56, AX
	INCQ  SI
	DECQ  DX
	JNZ   vector
	JMP   done

words:
	CMPQ SI, 56(CX)
	JNE  done
	CMPQ BX, $const_lookFenced
	JNE  load
	LFENCE

load:
	MOVQ 0(CX), DI
	MOVQ 8(CX), R8
	MOVQ 16(CX), R9
	MOVQ 24(CX), R10
	MOVQ 32(CX), R11
	MOVQ 40(CX), R12
	MOVQ 48(CX), R13
	MOVQ DI, 0(AX)
	MOVQ R8, 8(AX)
	MOVQ R9, 16(AX)
	MOVQ R10, 24(AX)
	MOVQ R11, 32(AX)
	MOVQ R12, 40(AX)
	MOVQ R13, 48(AX)
	ADDQ $64, CX
	ADDQ $56, AX
	INCQ SI
	DECQ DX
	JNZ  words

done:
	SUBQ word+32(FP), SI
	MOVQ SI, ret+40(FP)
	RET
