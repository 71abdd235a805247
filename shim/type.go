package main

// #include "types.h"
// #include "abi_mpich.h"
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"cmpi/mpitransport/datatype"
)

// Handles of predefined types: class and kind 0x4c, then the size in bytes.
const (
	builtinMask     = 0xffff0000
	builtinType     = 0x4c000000
	builtinSizeBits = 8
)

var builtinTypes = func() (t [256]*datatype.Type) {
	for n := range t {
		t[n] = datatype.Bytes(n)
	}
	return t
}()

// byteType is MPI_BYTE.
var byteType = builtinTypes[1]

// pairTypes are the types of MPI_MINLOC and MPI_MAXLOC, which have gaps: a value
// of the first size, then an int.
var pairTypes = map[int32]*datatype.Type{
	-0x74000000: pairType(4, 8),   // MPI_FLOAT_INT, 0x8c000000
	-0x73ffffff: pairType(8, 16),  // MPI_DOUBLE_INT
	-0x73fffffe: pairType(8, 16),  // MPI_LONG_INT
	-0x73fffffd: pairType(2, 8),   // MPI_SHORT_INT
	-0x73fffffc: pairType(16, 32), // MPI_LONG_DOUBLE_INT
}

func pairType(value int, extent int64) *datatype.Type {
	const intSize = 4
	at := int64(max(value, intSize)) // the int is aligned
	t := datatype.Struct([]int64{1, 1}, []int64{0, at}, []*datatype.Type{datatype.Bytes(value), datatype.Bytes(intSize)})
	return datatype.Resized(t, 0, extent)
}

// knownType is a decoded type.
type knownType struct {
	handle  int32
	t       *datatype.Type
	element atomic.Pointer[elementKind] // for accumulates; nil until asked for
}

// types caches the decoded types by handle. An entry goes by goTypeGone before
// the host gives the handle to another type.
var types struct {
	sync.RWMutex
	byHandle map[int32]*knownType
	last     atomic.Pointer[knownType] // the one used last
}

func initTypes() { types.byHandle = map[int32]*knownType{} }

// typeOf is the engine's view of a datatype of the host's. The error is an MPI
// error class.
func typeOf(handle int32) (*datatype.Type, int32) {
	if uint32(handle)&builtinMask == builtinType {
		return builtinTypes[uint8(uint32(handle)>>builtinSizeBits)], success
	}
	if k := types.last.Load(); k != nil && k.handle == handle {
		return k.t, success
	}
	types.RLock()
	k := types.byHandle[handle]
	types.RUnlock()
	if k == nil {
		t, class := decodeType(handle)
		if class != success {
			return nil, class
		}
		k = &knownType{handle: handle, t: t}
		if _, predefined := pairTypes[handle]; !predefined && C.cmpi_type_tie(C.int(handle)) != success {
			return t, success // works, uncached
		}
		types.Lock()
		types.byHandle[handle] = k
		types.Unlock()
	}
	types.last.Store(k)
	return k.t, success
}

//export goTypeGone
func goTypeGone(handle C.int) {
	defer rescue()
	types.Lock()
	delete(types.byHandle, int32(handle))
	types.Unlock()
	types.last.Store(nil)
}

// MPI_Type_get_envelope's combiners in the MPICH ABI.
const (
	combinerNamed = 1 + iota
	combinerDup
	combinerContiguous
	combinerVector
	combinerHvectorInteger
	combinerHvector
	combinerIndexed
	combinerHindexedInteger
	combinerHindexed
	combinerIndexedBlock
	combinerStructInteger
	combinerStruct
	combinerSubarray
	combinerDarray
	combinerF90Real
	combinerF90Complex
	combinerF90Integer
	combinerResized
	combinerHindexedBlock
)

// decodeType asks the host how a type was made, from the outside in, and builds
// the engine's from the inside out. The bounds are the host's: libraries differ
// in how they pad a structure.
func decodeType(handle int32) (*datatype.Type, int32) {
	if uint32(handle)&builtinMask == builtinType {
		return builtinTypes[uint8(uint32(handle)>>builtinSizeBits)], success
	}
	if t := pairTypes[handle]; t != nil {
		return t, success
	}
	if handle == C.MPICH_DATATYPE_NULL {
		return nil, errType
	}
	var size, lb, extent C.long
	if rc := C.cmpi_type_shape(C.int(handle), &size, &lb, &extent); rc != success {
		return nil, errType
	}
	var v C.struct_cmpi_type_contents
	if rc := C.cmpi_type_contents(C.int(handle), &v); rc != success {
		return nil, errType
	}
	defer C.cmpi_type_release(&v)
	t, class := build(&v, int64(size))
	if class != success {
		return nil, class
	}
	if t.LB() != int64(lb) || t.Extent() != int64(extent) {
		t = datatype.Resized(t, int64(lb), int64(extent))
	}
	if t.Err() != nil || t.Size() != int64(size) {
		return nil, errType
	}
	return t, success
}

// arguments are those of a datatype constructor in the order of its call. Each
// kind comes in one list; where MPI has an integer in the ordinary constructor
// and a large count in its twin, a list is read from whichever holds it.
type arguments struct {
	ints         []int32
	aints        []int64
	counts       []int64
	iInts, iLong int
}

// small takes an argument that is an int in both twins.
func (a *arguments) small() int64 {
	a.iInts++
	return int64(a.ints[a.iInts-1])
}

// count takes an argument that is an int, or a large count in the twin.
func (a *arguments) count() int64 {
	if len(a.counts) == 0 {
		return a.small()
	}
	a.iLong++
	return a.counts[a.iLong-1]
}

// address takes an argument that is an address, or a large count in the twin.
func (a *arguments) address() int64 {
	if len(a.counts) == 0 {
		a.iLong++
		return a.aints[a.iLong-1]
	}
	return a.count()
}

func several(n int64, take func() int64) []int64 {
	s := make([]int64, n)
	for i := range s {
		s[i] = take()
	}
	return s
}

// build makes the engine's type of a constructor's arguments (MPI-4.0 section
// 5.1.13 has their order).
func build(v *C.struct_cmpi_type_contents, size int64) (*datatype.Type, int32) {
	switch v.combiner {
	case combinerNamed, combinerF90Real, combinerF90Complex, combinerF90Integer:
		return datatype.Bytes(int(size)), success
	}
	inner, class := innerTypes(v)
	if class != success {
		return nil, class
	}
	a := &arguments{
		ints:   unsafe.Slice((*int32)(unsafe.Pointer(v.i)), int(v.ni)),
		aints:  unsafe.Slice((*int64)(unsafe.Pointer(v.a)), int(v.na)),
		counts: unsafe.Slice((*int64)(unsafe.Pointer(v.c)), int(v.nc)),
	}
	t := inner[0]
	switch v.combiner {
	case combinerDup:
		return t, success
	case combinerContiguous:
		return datatype.Contiguous(a.count(), t), success
	case combinerVector:
		n, block, stride := a.count(), a.count(), a.count()
		return datatype.Vector(n, block, stride, t), success
	case combinerHvector, combinerHvectorInteger:
		n, block := a.count(), a.count()
		return datatype.Hvector(n, block, a.displacement(v), t), success
	case combinerIndexed:
		n := a.count()
		blocks := several(n, a.count)
		return datatype.Indexed(blocks, several(n, a.count), t), success
	case combinerHindexed, combinerHindexedInteger:
		n := a.count()
		blocks := several(n, a.count)
		return datatype.Hindexed(blocks, several(n, func() int64 { return a.displacement(v) }), t), success
	case combinerIndexedBlock:
		n, block := a.count(), a.count()
		return datatype.IndexedBlock(block, several(n, a.count), t), success
	case combinerHindexedBlock:
		n, block := a.count(), a.count()
		return datatype.HindexedBlock(block, several(n, a.address), t), success
	case combinerStruct, combinerStructInteger:
		n := a.count()
		blocks := several(n, a.count)
		return datatype.Struct(blocks, several(n, func() int64 { return a.displacement(v) }), inner), success
	case combinerSubarray:
		dims := a.small()
		sizes, subsizes, starts := several(dims, a.count), several(dims, a.count), several(dims, a.count)
		return datatype.Subarray(sizes, subsizes, starts, order(a.small()), t), success
	case combinerDarray:
		return darray(a, t), success
	case combinerResized:
		lb := a.address()
		return datatype.Resized(t, lb, a.address()), success
	}
	return nil, errType
}

// displacement takes a displacement in bytes, which the Fortran 77 constructors
// (…Integer) have as int.
func (a *arguments) displacement(v *C.struct_cmpi_type_contents) int64 {
	switch v.combiner {
	case combinerHvectorInteger, combinerHindexedInteger, combinerStructInteger:
		return a.count()
	}
	return a.address()
}

func innerTypes(v *C.struct_cmpi_type_contents) ([]*datatype.Type, int32) {
	if v.nt == 0 {
		return nil, errType
	}
	handles := unsafe.Slice((*int32)(unsafe.Pointer(v.t)), int(v.nt))
	inner := make([]*datatype.Type, len(handles))
	result := int32(success)
	for i, h := range handles {
		t, class := decodeType(h)
		if class != success {
			result = class
		}
		inner[i] = t
		if uint32(h)&builtinMask != builtinType && pairTypes[h] == nil {
			C.cmpi_type_drop(C.int(h))
		}
	}
	return inner, result
}

func order(mpi int64) datatype.Order {
	const orderFortran = 57 // MPI_ORDER_FORTRAN
	if mpi == orderFortran {
		return datatype.OrderFortran
	}
	return datatype.OrderC
}

func darray(a *arguments, t *datatype.Type) *datatype.Type {
	const (
		distributeBlock  = 121    // MPI_DISTRIBUTE_BLOCK
		distributeCyclic = 122    // MPI_DISTRIBUTE_CYCLIC
		defaultArg       = -49767 // MPI_DISTRIBUTE_DFLT_DARG
	)
	size, rank, dims := a.small(), a.small(), a.small()
	gsizes := several(dims, a.count)
	distribs := make([]datatype.Distribution, dims)
	for i := range distribs {
		switch a.small() {
		case distributeBlock:
			distribs[i] = datatype.DistributeBlock
		case distributeCyclic:
			distribs[i] = datatype.DistributeCyclic
		default:
			distribs[i] = datatype.DistributeNone
		}
	}
	args := several(dims, a.small)
	for i := range args {
		if args[i] == defaultArg {
			args[i] = datatype.DefaultArg
		}
	}
	psizes := several(dims, a.small)
	return datatype.Darray(int(size), int(rank), gsizes, distribs, args, psizes, order(a.small()), t)
}
