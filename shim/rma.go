package main

// #include "shim.h"
// #include "win.h"
// #include "types.h"
import "C"

import (
	"unsafe"

	"cmpi/mpitransport/window"
)

// requestForm says that an operation was called by its request-based form, which
// only a lock allows (rma.c has the same number).
const requestForm = 1

// data translates a buffer of the origin. The error is an MPI error class.
func data(buf unsafe.Pointer, count C.intptr_t, typ C.int) (window.Data, int32) {
	t, class := typeOf(int32(typ))
	if class != success {
		return window.Data{}, class
	}
	if buf == nil && count > 0 && t.TrueLB() == 0 && t.Size() > 0 {
		return window.Data{}, errBuffer
	}
	return window.Data{Buf: buf, Count: int64(count), Type: t}, success
}

// place translates the target side.
func place(rank C.int, disp, count C.intptr_t, typ C.int) (window.Place, int32) {
	t, class := typeOf(int32(typ))
	return window.Place{Rank: int(rank), Disp: int64(disp), Count: int64(count), Type: t}, class
}

// allowed refuses a request-based form outside of a lock.
func (w *win) allowed(rank, form C.int) int32 {
	if form == requestForm && rank >= 0 && int(rank) < w.engine.Size() && !w.engine.Passive(int(rank)) {
		return winNumber(window.ErrSync)
	}
	return success
}

// first is the first error of several.
func first(classes ...int32) int32 {
	for _, c := range classes {
		if c != success {
			return c
		}
	}
	return success
}

//export goPut
func goPut(w *C.struct_cmpi_win, buf unsafe.Pointer, count C.intptr_t, typ, rank C.int, disp, tcount C.intptr_t, ttype, form C.int) C.int {
	defer rescue()
	x := winOf(w)
	origin, e1 := data(buf, count, typ)
	target, e2 := place(rank, disp, tcount, ttype)
	if e := first(e1, e2, x.allowed(rank, form)); e != success {
		return C.int(e)
	}
	return x.count(countedPut, rank, bytesOf(origin), C.int(winNumber(x.engine.Put(origin, target))))
}

//export goGet
func goGet(w *C.struct_cmpi_win, buf unsafe.Pointer, count C.intptr_t, typ, rank C.int, disp, tcount C.intptr_t, ttype, form C.int) C.int {
	defer rescue()
	x := winOf(w)
	origin, e1 := data(buf, count, typ)
	target, e2 := place(rank, disp, tcount, ttype)
	if e := first(e1, e2, x.allowed(rank, form)); e != success {
		return C.int(e)
	}
	return x.count(countedGet, rank, bytesOf(origin), C.int(winNumber(x.engine.Get(origin, target))))
}

//export goAccumulate
func goAccumulate(w *C.struct_cmpi_win, buf unsafe.Pointer, count C.intptr_t, typ, rank C.int, disp, tcount C.intptr_t, ttype, op, form C.int) C.int {
	defer rescue()
	x := winOf(w)
	origin, e1 := data(buf, count, typ)
	target, e2 := place(rank, disp, tcount, ttype)
	o, e3 := operation(op)
	elem, e4 := sameElement(typ, ttype, origin)
	if e := first(e1, e2, e3, e4, x.allowed(rank, form)); e != success {
		return C.int(e)
	}
	return x.count(countedUpdate, rank, bytesOf(origin), C.int(winNumber(x.engine.Accumulate(origin, target, o, elem))))
}

//export goGetAccumulate
func goGetAccumulate(w *C.struct_cmpi_win, buf unsafe.Pointer, count C.intptr_t, typ C.int, rbuf unsafe.Pointer, rcount C.intptr_t, rtype,
	rank C.int, disp, tcount C.intptr_t, ttype, op, form C.int) C.int {
	defer rescue()
	x := winOf(w)
	o, e1 := operation(op)
	if o == window.OpNoOp { // the origin may be anything
		buf, count, typ = rbuf, rcount, rtype
	}
	origin, e2 := data(buf, count, typ)
	result, e3 := data(rbuf, rcount, rtype)
	target, e4 := place(rank, disp, tcount, ttype)
	elem, e5 := sameElement(typ, ttype, origin)
	_, e6 := sameElement(rtype, ttype, result)
	if e := first(e1, e2, e3, e4, e5, e6, x.allowed(rank, form)); e != success {
		return C.int(e)
	}
	return x.count(countedUpdate, rank, bytesOf(result), C.int(winNumber(x.engine.GetAccumulate(origin, result, target, o, elem))))
}

//export goFetchAndOp
func goFetchAndOp(w *C.struct_cmpi_win, buf, result unsafe.Pointer, typ, rank C.int, disp C.intptr_t, op C.int) C.int {
	defer rescue()
	o, e1 := operation(op)
	elem, e2 := elementOf(int32(typ))
	if e := first(e1, e2); e != success {
		return C.int(e)
	}
	if rank != window.ProcNull && (result == nil || buf == nil && o != window.OpNoOp) {
		return errBuffer
	}
	x := winOf(w)
	return x.count(countedUpdate, rank, int64(elem.Size()), C.int(winNumber(x.engine.FetchAndOp(buf, result, elem, int(rank), int64(disp), o))))
}

//export goCompareAndSwap
func goCompareAndSwap(w *C.struct_cmpi_win, buf, compare, result unsafe.Pointer, typ, rank C.int, disp C.intptr_t) C.int {
	defer rescue()
	elem, e := elementOf(int32(typ))
	if e != success {
		return C.int(e)
	}
	if rank != window.ProcNull && (buf == nil || compare == nil || result == nil) {
		return errBuffer
	}
	x := winOf(w)
	return x.count(countedUpdate, rank, int64(elem.Size()), C.int(winNumber(x.engine.CompareAndSwap(buf, compare, result, elem, int(rank), int64(disp)))))
}

// ---- operations and elements ------------------------------------------------------------

var operations = map[C.int]window.Op{
	C.MPICH_MAX: window.OpMax, C.MPICH_MIN: window.OpMin, C.MPICH_SUM: window.OpSum, C.MPICH_PROD: window.OpProd,
	C.MPICH_LAND: window.OpLAnd, C.MPICH_LOR: window.OpLOr, C.MPICH_LXOR: window.OpLXor,
	C.MPICH_BAND: window.OpBAnd, C.MPICH_BOR: window.OpBOr, C.MPICH_BXOR: window.OpBXor,
	C.MPICH_MINLOC: window.OpMinLoc, C.MPICH_MAXLOC: window.OpMaxLoc,
	C.MPICH_REPLACE: window.OpReplace, C.MPICH_NO_OP: window.OpNoOp,
}

// operation translates a predefined operation; a program's own is an error.
func operation(mpi C.int) (window.Op, int32) {
	op, ok := operations[mpi]
	if !ok {
		return 0, C.MPICH_ERR_OP
	}
	return op, success
}

// namedElements are the predefined datatypes by the number in the lowest byte of
// their handles.
var namedElements = map[uint8]window.Elem{
	0x01: window.Int8, 0x18: window.Int8, 0x02: window.Uint8, 0x0e: window.Int32, // char, wchar_t
	0x03: window.Int16, 0x04: window.Uint16, 0x05: window.Int32, 0x06: window.Uint32,
	0x07: window.Int64, 0x08: window.Uint64, 0x09: window.Int64, 0x19: window.Uint64,
	0x0a: window.Float32, 0x0b: window.Float64, 0x0c: window.LongDouble,
	0x0d: window.Byte, 0x0f: window.Byte, // MPI_BYTE, MPI_PACKED
	0x37: window.Int8, 0x38: window.Int16, 0x39: window.Int32, 0x3a: window.Int64, // int8_t and so on
	0x3b: window.Uint8, 0x3c: window.Uint16, 0x3d: window.Uint32, 0x3e: window.Uint64,
	0x43: window.Int64, 0x44: window.Int64, 0x45: window.Int64, // MPI_AINT, MPI_OFFSET, MPI_COUNT
	0x3f: window.Bool, 0x40: window.Complex64, 0x41: window.Complex128, 0x42: window.LongComplex,
	0x33: window.Bool, 0x34: window.Complex64, 0x35: window.Complex128, 0x36: window.LongComplex, // C++
	0x1a: window.Int8, 0x1b: window.Int32, 0x1c: window.Float32, 0x1d: window.Logical32, // Fortran
	0x1e: window.Complex64, 0x1f: window.Float64, 0x22: window.Complex128,
	0x27: window.Float32, 0x29: window.Float64, 0x28: window.Complex64, 0x2a: window.Complex128,
	0x2d: window.Int8, 0x2f: window.Int16, 0x30: window.Int32, 0x31: window.Int64,
	0x16: window.Int32Int32, 0x20: window.Int32Int32, 0x21: window.Float32Float32, 0x23: window.Float64Float64,
}

var pairElements = map[int32]window.Elem{
	-0x74000000: window.Float32Int32, // the handles of pairTypes
	-0x73ffffff: window.Float64Int32,
	-0x73fffffe: window.Int64Int32,
	-0x73fffffd: window.Int16Int32,
	-0x73fffffc: window.LongDoubleInt32,
}

// Kinds of MPI_Type_create_f90_real and so on, by size in bytes.
var f90Elements = map[C.int]map[C.long]window.Elem{
	combinerF90Real:    {4: window.Float32, 8: window.Float64, 16: window.LongDouble},
	combinerF90Complex: {8: window.Complex64, 16: window.Complex128, 32: window.LongComplex},
	combinerF90Integer: {1: window.Int8, 2: window.Int16, 4: window.Int32, 8: window.Int64},
}

// elementKind is what a datatype of the program's own is made of, or why it isn't
// made of one kind of element.
type elementKind struct {
	elem  window.Elem
	class int32
}

// elementOf is the kind of element that a datatype is made of, throughout: MPI
// wants accumulates to have only one. The error is an MPI error class.
func elementOf(handle int32) (window.Elem, int32) {
	if uint32(handle)&builtinMask == builtinType {
		e, ok := namedElements[uint8(handle)]
		if !ok {
			return 0, errType
		}
		return e, success
	}
	if e, ok := pairElements[handle]; ok {
		return e, success
	}
	if _, class := typeOf(handle); class != success {
		return 0, class
	}
	types.RLock()
	known := types.byHandle[handle]
	types.RUnlock()
	if known == nil { // a type that could not be cached
		return onlyElement(handle)
	}
	if k := known.element.Load(); k != nil {
		return k.elem, k.class
	}
	var k elementKind
	k.elem, k.class = onlyElement(handle)
	known.element.Store(&k)
	return k.elem, k.class
}

// onlyElement asks the host what a datatype of the program's is made of.
func onlyElement(handle int32) (elem window.Elem, class int32) {
	if uint32(handle)&builtinMask == builtinType || pairTypes[handle] != nil {
		return elementOf(handle)
	}
	var v C.struct_cmpi_type_contents
	if C.cmpi_type_contents(C.int(handle), &v) != success {
		return 0, errType
	}
	defer C.cmpi_type_release(&v)
	if kinds := f90Elements[v.combiner]; kinds != nil {
		var size, lb, extent C.long
		if C.cmpi_type_shape(C.int(handle), &size, &lb, &extent) != success {
			return 0, errType
		}
		e, ok := kinds[size]
		if !ok {
			return 0, errType
		}
		return e, success
	}
	if v.nt == 0 {
		return 0, errType
	}
	class = success
	for i, h := range unsafe.Slice((*int32)(unsafe.Pointer(v.t)), int(v.nt)) {
		e, c := onlyElement(h)
		switch {
		case c != success:
			class = c
		case i == 0:
			elem = e
		case e != elem:
			class = errType
		}
		if uint32(h)&builtinMask != builtinType && pairTypes[h] == nil {
			C.cmpi_type_drop(C.int(h))
		}
	}
	return elem, class
}

// sameElement is the kind of element of both sides of an accumulate. For no data
// MPI doesn't care.
func sameElement(a, b C.int, data window.Data) (window.Elem, int32) {
	e, class := elementOf(int32(b))
	if a == b || class != success {
		return e, class
	}
	if data.Type == nil || data.Count == 0 || data.Type.Size() == 0 {
		return e, success
	}
	f, class := elementOf(int32(a))
	if class == success && e != f {
		class = errType
	}
	return e, class
}
