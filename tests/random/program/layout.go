package program

import (
	"fmt"
	"strings"
)

// Basic is a predefined MPI datatype.
type Basic int

// The predefined datatypes in use: one of each size and some that differ in
// name only.
const (
	Byte Basic = iota
	Char
	Short
	Int
	Float
	Long
	Double
	Basics = iota
)

var basics = [Basics]struct {
	name string
	size int // bytes, which is its alignment too
}{{"byte", 1}, {"char", 1}, {"short", 2}, {"int", 4}, {"float", 4}, {"long", 8}, {"double", 8}}

// Cell is what all messages of a case are multiples of, so that any receive may
// match any message without breaking the rule that their type signatures agree
// (MPI-4.0 section 3.3.1): a structure, laid out as C does, or, of one member,
// that predefined type itself.
type Cell []Basic

func (c Cell) String() string {
	names := make([]string, len(c))
	for i, b := range c {
		names[i] = basics[b].name
	}
	if len(c) == 1 {
		return names[0]
	}
	return "struct{" + strings.Join(names, ",") + "}"
}

// Size is the number of data bytes.
func (c Cell) Size() (n int) {
	for _, b := range c {
		n += basics[b].size
	}
	return n
}

// Align is the alignment in memory, bytes.
func (c Cell) Align() (n int) {
	for _, b := range c {
		n = max(n, basics[b].size)
	}
	return n
}

// Extent is the distance of neighbours in memory, bytes.
func (c Cell) Extent() (n int) {
	for _, b := range c {
		n = up(n, basics[b].size) + basics[b].size
	}
	return up(n, c.Align())
}

func up(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }

// TypeKind is a constructor of derived datatypes.
type TypeKind int

// The constructors, and what stands in Type.Args. Displacements and strides
// are in extents of the inner type where MPI says so, else in bytes.
const (
	CellType     TypeKind = iota // the case's cell
	Contiguous                   // count
	Vector                       // count, block length, stride
	Hvector                      // count, block length, stride in bytes
	Indexed                      // per block: length, displacement
	Hindexed                     // per block: length, displacement in bytes
	IndexedBlock                 // block length, then the displacements
	Struct                       // per block: length, displacement in bytes; all of the inner type
	Subarray                     // rows and columns of the array, of the part; first row, column; 1 for Fortran order
	Resized                      // lower bound, extent, both in bytes
	Duplicate                    // nothing
	TypeKinds    = iota
)

var typeNames = [TypeKinds]string{"cell", "contiguous", "vector", "hvector", "indexed", "hindexed", "indexed_block", "struct", "subarray", "resized", "dup"}

// Type is a datatype: a constructor and what it is applied to.
type Type struct {
	Kind TypeKind
	Args []int
	Sub  *Type // nil for CellType
}

func (t *Type) String() string {
	if t.Kind == CellType {
		return "cell"
	}
	return fmt.Sprintf("%s%v of %v", typeNames[t.Kind], t.Args, t.Sub)
}

// block is a run of elements of the inner type.
type block struct{ length, disp int } // disp in bytes

// blocks lists what a constructor places where; ext is the extent of the inner
// type. Not for subarrays.
func (t *Type) blocks(ext int) (list []block) {
	a := t.Args
	switch t.Kind {
	case Contiguous:
		list = append(list, block{a[0], 0})
	case Vector, Hvector:
		stride := a[2]
		if t.Kind == Vector {
			stride *= ext
		}
		for i := range a[0] {
			list = append(list, block{a[1], i * stride})
		}
	case Indexed, Hindexed, Struct:
		unit := 1
		if t.Kind == Indexed {
			unit = ext
		}
		for i := 0; i < len(a); i += 2 {
			list = append(list, block{a[i], a[i+1] * unit})
		}
	case IndexedBlock:
		for _, d := range a[1:] {
			list = append(list, block{a[0], d * ext})
		}
	case Resized, Duplicate:
		list = append(list, block{1, 0})
	}
	return list
}

// Cells is how many cells one element holds.
func (t *Type) Cells() (n int) {
	switch t.Kind {
	case CellType:
		return 1
	case Subarray:
		return t.Args[2] * t.Args[3] * t.Sub.Cells()
	}
	for _, b := range t.blocks(0) {
		n += b.length
	}
	return n * t.Sub.Cells()
}

// Bounds are the lower and the upper bound of one element of cells c, bytes.
// (A structure has no padding of its own here: the executor gives it these
// bounds explicitly.)
func (t *Type) Bounds(c Cell) (lb, ub int) {
	switch t.Kind {
	case CellType:
		return 0, c.Extent()
	case Resized:
		return t.Args[0], t.Args[0] + t.Args[1]
	}
	lo, hi := t.Sub.Bounds(c)
	ext := hi - lo
	if t.Kind == Subarray {
		return 0, t.Args[0] * t.Args[1] * ext
	}
	first := true
	for _, b := range t.blocks(ext) {
		if b.length == 0 {
			continue
		}
		from, to := b.disp+lo, b.disp+(b.length-1)*ext+hi
		if first {
			lb, ub, first = from, to, false
		}
		lb, ub = min(lb, from), max(ub, to)
	}
	return lb, ub
}

// Extent is the distance of neighbouring elements, bytes.
func (t *Type) Extent(c Cell) int {
	lb, ub := t.Bounds(c)
	return ub - lb
}

// Layout is how a message lies in memory: Count elements of a type.
type Layout struct {
	Count int
	Type  *Type
}

// Plain is the layout of n cells side by side.
func Plain(n int) Layout { return Layout{n, &Type{Kind: CellType}} }

// IsPlain reports a layout that Plain makes.
func (l Layout) IsPlain() bool { return l.Type == nil || l.Type.Kind == CellType }

// Cells is how many cells the layout holds.
func (l Layout) Cells() int {
	if l.Type == nil {
		return 0
	}
	return l.Count * l.Type.Cells()
}

func (l Layout) String() string {
	if l.IsPlain() {
		return fmt.Sprintf("%d cells", l.Count)
	}
	return fmt.Sprintf("%d × %v", l.Count, l.Type)
}
