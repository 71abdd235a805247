package window

// Op is a predefined reduction operation.
type Op uint8

// The operations.
const (
	OpReplace Op = iota
	OpNoOp
	OpSum
	OpProd
	OpMax
	OpMin
	OpLAnd
	OpLOr
	OpLXor
	OpBAnd
	OpBOr
	OpBXor
	OpMaxLoc
	OpMinLoc

	ops = iota
)

// Elem is a predefined kind of element, as a language's ABI stores it.
type Elem uint8

// The element kinds. LongDouble is the x87 format in 16 bytes (long double of
// amd64; other processors have another). Bool and the Logicals are true when not
// zero. A pair kind is a value and an index as MPI_MAXLOC takes them.
const (
	Int8 Elem = iota
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Byte // bitwise operations only
	Bool // logical operations only, as all up to Logical64
	Logical16
	Logical32
	Logical64
	Float32
	Float64
	LongDouble
	Complex64  // two Float32
	Complex128 // two Float64
	LongComplex
	Int16Int32      // MPI_SHORT_INT
	Int32Int32      // MPI_2INT, MPI_2INTEGER
	Int64Int32      // MPI_LONG_INT
	Float32Int32    // MPI_FLOAT_INT
	Float64Int32    // MPI_DOUBLE_INT
	LongDoubleInt32 // MPI_LONG_DOUBLE_INT
	Float32Float32  // MPI_2REAL
	Float64Float64  // MPI_2DOUBLE_PRECISION

	elems = iota
)

// family groups element kinds by the operations that MPI gives them.
type family uint8

const (
	integers family = iota
	bits
	logicals
	floats
	complexes
	pairs
)

// elemInfo is what the engine knows of a kind: the bytes of data of one element,
// that is, its length in the packed stream of its datatype, without padding.
type elemInfo struct {
	size   int
	family family
}

var elemInfos = [elems]elemInfo{
	Int8: {1, integers}, Int16: {2, integers}, Int32: {4, integers}, Int64: {8, integers},
	Uint8: {1, integers}, Uint16: {2, integers}, Uint32: {4, integers}, Uint64: {8, integers},
	Byte: {1, bits}, Bool: {1, logicals}, Logical16: {2, logicals}, Logical32: {4, logicals}, Logical64: {8, logicals},
	Float32: {4, floats}, Float64: {8, floats}, LongDouble: {16, floats},
	Complex64: {8, complexes}, Complex128: {16, complexes}, LongComplex: {32, complexes},
	Int16Int32: {6, pairs}, Int32Int32: {8, pairs}, Int64Int32: {12, pairs},
	Float32Int32: {8, pairs}, Float64Int32: {12, pairs}, LongDoubleInt32: {20, pairs},
	Float32Float32: {8, pairs}, Float64Float64: {16, pairs},
}

// Size is the number of bytes of data in one element, without padding.
func (e Elem) Size() int {
	if int(e) >= elems {
		return 0
	}
	return elemInfos[e].size
}

// allowed has a bit per operation for each family.
var allowed = func() (set [pairs + 1]uint32) {
	give := func(f family, list ...Op) {
		for _, o := range list {
			set[f] |= 1 << o
		}
	}
	for f := range set {
		give(family(f), OpReplace, OpNoOp)
	}
	give(integers, OpSum, OpProd, OpMax, OpMin, OpLAnd, OpLOr, OpLXor, OpBAnd, OpBOr, OpBXor)
	give(bits, OpBAnd, OpBOr, OpBXor)
	give(logicals, OpLAnd, OpLOr, OpLXor)
	give(floats, OpSum, OpProd, OpMax, OpMin)
	give(complexes, OpSum, OpProd)
	give(pairs, OpMaxLoc, OpMinLoc)
	return set
}()

// Valid tells whether MPI defines op for elements of kind e.
func (op Op) Valid(e Elem) bool {
	return int(op) < ops && int(e) < elems && allowed[elemInfos[e].family]>>op&1 != 0
}

// atomicKind tells whether an element, where aligned to its size, is updated by
// CPU atomics in a coherent window, by everyone: what is decided by kind and
// address alone is decided alike by all.
func (e Elem) atomicKind() bool {
	i := elemInfos[e]
	return i.size <= 8 && i.family <= floats
}
