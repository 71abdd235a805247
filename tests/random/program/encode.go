package program

import (
	"encoding/binary"
	"io"
)

// The file that the executor reads: 32-bit little-endian words.
//
//	header: magic, version, ranks, threads, thread level, number of cases
//	case:   words that follow, number, key (2 words), members of a cell, their types,
//	        then per rank: words that follow, slots, handles, bytes to attach, lists, the epilogue last
//	list:   operations; each: words that follow, then as encodeOp says
//	layout: count, type; a type: kind, number of arguments, arguments, and unless CellType its inner type
const (
	Magic   = 0x50524d43 // "CMRP"
	Version = 1
)

// ThreadLevel is what the executor asks MPI_Init_thread for.
type ThreadLevel int

// The thread levels of MPI.
const (
	Single ThreadLevel = iota
	Funneled
	Serialized
	Multiple
)

// Run is what one start of the executor works through.
type Run struct {
	Ranks, Threads int
	Level          ThreadLevel
	Cases          []*Case
}

// Write encodes a run for the executor.
func (r *Run) Write(w io.Writer) error {
	words := []int32{Magic, Version, int32(r.Ranks), int32(r.Threads), int32(r.Level), int32(len(r.Cases))}
	for _, c := range r.Cases {
		words = append(words, sized(c.encode())...)
	}
	return binary.Write(w, binary.LittleEndian, words)
}

// sized puts the length in front.
func sized(words []int32) []int32 { return append([]int32{int32(len(words))}, words...) }

func (c *Case) encode() []int32 {
	words := []int32{int32(c.Number), int32(uint32(c.Key)), int32(uint32(c.Key >> 32)), int32(len(c.Cell))}
	for _, b := range c.Cell {
		words = append(words, int32(b))
	}
	for rank := range c.Ranks {
		r := []int32{int32(c.Slots[rank]), int32(c.Handles[rank]), int32(c.Attach[rank])}
		for _, ops := range c.Threads[rank] {
			r = append(r, encodeOps(ops)...)
		}
		r = append(r, encodeOps(c.Epilogue[rank])...)
		words = append(words, sized(r)...)
	}
	return words
}

func encodeOps(ops []Op) []int32 {
	words := []int32{int32(len(ops))}
	for i := range ops {
		words = append(words, sized(encodeOp(&ops[i]))...)
	}
	return words
}

func encodeOp(op *Op) []int32 {
	until := 0
	if op.Until {
		until = 1
	}
	var words []int32
	for _, n := range []int{int(op.Kind), int(op.Comm), int(op.Mode), op.Msg, op.Handle, until, op.Tries, op.Micros, op.Count, int(op.Flags),
		op.Send.Peer, op.Send.Tag, op.Send.Layout.Cells(), op.Recv.Peer, op.Recv.Tag, op.Recv.Layout.Cells()} {
		words = append(words, int32(n))
	}
	words = appendInts(words, op.Slots)
	words = appendInts(words, op.Msgs)
	words = encodeLayout(words, op.Send.Layout)
	return encodeLayout(words, op.Recv.Layout)
}

func appendInts(words []int32, list []int) []int32 {
	words = append(words, int32(len(list)))
	for _, n := range list {
		words = append(words, int32(n))
	}
	return words
}

func encodeLayout(words []int32, l Layout) []int32 {
	words = append(words, int32(l.Count))
	t := l.Type
	if t == nil {
		t = &Type{}
	}
	for ; t != nil; t = t.Sub {
		words = append(words, int32(t.Kind))
		words = appendInts(words, t.Args)
	}
	return words
}
