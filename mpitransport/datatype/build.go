package datatype

// Bytes is a predefined type: n contiguous bytes. Padded predefined types, such
// as MPI_LONG_DOUBLE_INT, are a Struct or a Resized of it.
func Bytes(n int) *Type {
	if n < 0 {
		return invalid("%d bytes", n)
	}
	return newType(new(calc), part{n: int64(n)}, dense(int64(n)))
}

// Contiguous is count elements one after the other, an extent apart.
func Contiguous(count int64, t *Type) *Type {
	return Hvector(count, 1, t.Extent(), t)
}

// Vector is [Hvector] with the stride in extents of t.
func Vector(count, blocklen, stride int64, t *Type) *Type {
	var c calc
	bytes := c.mul(stride, t.Extent())
	if c.overflow {
		return failed(ErrOverflow)
	}
	return Hvector(count, blocklen, bytes, t)
}

// Hvector is count blocks of blocklen elements each, block starts strideBytes
// apart. The stride may be negative or smaller than a block.
func Hvector(count, blocklen, strideBytes int64, t *Type) *Type {
	switch {
	case t.err != nil:
		return t
	case count < 0:
		return invalid("count %d", count)
	case blocklen < 0:
		return invalid("block length %d", blocklen)
	case count == 0 || blocklen == 0:
		return &Type{}
	}
	var c calc
	block, b := t.block(&c, blocklen)
	return newType(&c, block.repeat(&c, count, strideBytes), b.repeat(&c, count, strideBytes))
}

// block is n > 0 elements an extent apart.
func (t *Type) block(c *calc, n int64) (part, bounds) {
	return t.root.repeat(c, n, t.Extent()), t.b.repeat(c, n, t.Extent())
}

// Indexed is [Hindexed] with displacements in extents of t.
func Indexed(blocklens, disps []int64, t *Type) *Type {
	bytes, err := scaled(disps, t)
	if err != nil {
		return failed(err)
	}
	return Hindexed(blocklens, bytes, t)
}

// Hindexed is len(blocklens) blocks; block i is blocklens[i] elements at
// dispsBytes[i]. Blocks of length 0 leave no trace, not even in the bounds. With
// absolute addresses as displacements the buffer address is nil (MPI_BOTTOM).
func Hindexed(blocklens, dispsBytes []int64, t *Type) *Type {
	if len(blocklens) != len(dispsBytes) {
		return invalid("%d block lengths, %d displacements", len(blocklens), len(dispsBytes))
	}
	return indexedBlocks(func(i int) int64 { return blocklens[i] }, dispsBytes, t)
}

// IndexedBlock is [HindexedBlock] with displacements in extents of t.
func IndexedBlock(blocklen int64, disps []int64, t *Type) *Type {
	bytes, err := scaled(disps, t)
	if err != nil {
		return failed(err)
	}
	return HindexedBlock(blocklen, bytes, t)
}

// HindexedBlock is [Hindexed] with blocks of equal length.
func HindexedBlock(blocklen int64, dispsBytes []int64, t *Type) *Type {
	return indexedBlocks(func(int) int64 { return blocklen }, dispsBytes, t)
}

// scaled turns displacements in extents of t into bytes.
func scaled(disps []int64, t *Type) ([]int64, error) {
	var c calc
	bytes := make([]int64, len(disps))
	for i, d := range disps {
		bytes[i] = c.mul(d, t.Extent())
	}
	if c.overflow {
		return nil, ErrOverflow
	}
	return bytes, nil
}

// indexedBlocks places blocklen(i) elements of t at disps[i]. Equal blocks share
// one tree.
func indexedBlocks(blocklen func(int) int64, disps []int64, t *Type) *Type {
	if t.err != nil {
		return t
	}
	type block struct {
		p part
		b bounds
	}
	var (
		c     calc
		b     bounds
		known = map[int64]block{}
		last  block
		have  = int64(-1) // the length last was made for
		parts = make([]part, 0, len(disps))
	)
	for i, d := range disps {
		n := blocklen(i)
		if n < 0 {
			return invalid("block length %d", n)
		}
		if n == 0 {
			continue
		}
		if n != have {
			var ok bool
			if last, ok = known[n]; !ok {
				last.p, last.b = t.block(&c, n)
				known[n] = last
			}
			have = n
		}
		b = b.join(last.b.shift(&c, d))
		if last.p.n > 0 {
			parts = append(parts, last.p.shift(&c, d))
		}
	}
	return newType(&c, sequence(&c, parts), b)
}

// Struct is len(ts) blocks of different types; block i is blocklens[i] elements
// of ts[i] at dispsBytes[i].
//
// The upper bound is that of the data (or of markers inside). MPI lets a
// library pad it to the alignment of the members, and libraries differ in when
// they do: a caller who needs the host library's extent applies [Resized] with
// it.
func Struct(blocklens, dispsBytes []int64, ts []*Type) *Type {
	if len(blocklens) != len(ts) || len(dispsBytes) != len(ts) {
		return invalid("%d block lengths, %d displacements, %d types", len(blocklens), len(dispsBytes), len(ts))
	}
	var (
		c     calc
		b     bounds
		parts = make([]part, 0, len(ts))
	)
	for i, t := range ts {
		switch n := blocklens[i]; {
		case t.err != nil:
			return t
		case n < 0:
			return invalid("block length %d", n)
		case n > 0:
			p, pb := t.block(&c, n)
			b = b.join(pb.shift(&c, dispsBytes[i]))
			if p.n > 0 {
				parts = append(parts, p.shift(&c, dispsBytes[i]))
			}
		}
	}
	return newType(&c, sequence(&c, parts), b)
}

// Resized is t with the given lower bound and extent in bytes. As with
// MPI_Type_create_resized the new bounds are markers: in a type built from it
// they override those of unmarked parts.
func Resized(t *Type, lb, extent int64) *Type {
	if t.err != nil {
		return t
	}
	var c calc
	b := t.b
	b.lb, b.ub, b.marked = lb, c.add(lb, extent), true
	return newType(&c, t.root, b)
}
