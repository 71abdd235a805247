package datatype

import (
	"math"
	"unsafe"
)

const maxLen = math.MaxInt64

// word is a block that the compiler copies with one move, where a call of
// memmove would cost more.
type word interface {
	uint8 | uint16 | uint32 | uint64 | [2]uint64
}

// transfer copies one run of n bytes between user+off and packed+pos.
func transfer(w way, user unsafe.Pointer, off int64, packed unsafe.Pointer, pos, n int64) {
	dst, src := unsafe.Add(packed, pos), unsafe.Add(user, off)
	if w == scatter {
		dst, src = src, dst
	}
	// Two moves that may overlap serve a range of lengths without a branch on
	// the exact one: runs of mixed length defeat the branch predictor, which cost
	// more than the copy itself.
	switch {
	case n > 32:
		copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
	case n >= 16:
		ends[[2]uint64](dst, src, n-16)
	case n >= 8:
		ends[uint64](dst, src, n-8)
	case n >= 4:
		ends[uint32](dst, src, n-4)
	case n >= 2:
		ends[uint16](dst, src, n-2)
	default:
		*(*uint8)(dst) = *(*uint8)(src)
	}
}

// ends copies a word at the start of a run and one rest bytes on, at its end.
func ends[T word](dst, src unsafe.Pointer, rest int64) {
	*(*T)(dst) = *(*T)(src)
	*(*T)(unsafe.Add(dst, rest)) = *(*T)(unsafe.Add(src, rest))
}

// transferRuns copies runs at user+off+disps[i] whose packed bytes are
// [cum[i], cum[i+1]) counted so that cum[0] is at packed+pos.
func transferRuns(w way, user unsafe.Pointer, off int64, disps, cum []int64, packed unsafe.Pointer, pos int64) {
	for i, d := range disps {
		transfer(w, user, off+d, packed, pos+cum[i]-cum[0], cum[i+1]-cum[i])
	}
}

// transferStrided copies n blocks of blk bytes: stride bytes apart from user+off
// on, pitch bytes apart from packed+pos on.
func transferStrided(w way, user unsafe.Pointer, off, stride int64, packed unsafe.Pointer, pos, pitch, n, blk int64) {
	dst, src := unsafe.Add(packed, pos), unsafe.Add(user, off)
	ds, ss := pitch, stride
	if w == scatter {
		dst, src = src, dst
		ds, ss = ss, ds
	}
	switch {
	case blk > 32:
		for d, s := int64(0), int64(0); n > 0; n-- {
			copy(unsafe.Slice((*byte)(unsafe.Add(dst, d)), blk), unsafe.Slice((*byte)(unsafe.Add(src, s)), blk))
			d += ds
			s += ss
		}
	case blk == 16:
		strided[[2]uint64](dst, ds, src, ss, n)
	case blk > 16:
		stridedEnds[[2]uint64](dst, ds, src, ss, n, blk-16)
	case blk == 8:
		strided[uint64](dst, ds, src, ss, n)
	case blk > 8:
		stridedEnds[uint64](dst, ds, src, ss, n, blk-8)
	case blk == 4:
		strided[uint32](dst, ds, src, ss, n)
	case blk > 4:
		stridedEnds[uint32](dst, ds, src, ss, n, blk-4)
	case blk >= 2:
		stridedEnds[uint16](dst, ds, src, ss, n, blk-2)
	default:
		strided[uint8](dst, ds, src, ss, n)
	}
}

// strided copies n words, ds bytes apart at dst and ss bytes apart at src.
func strided[T word](dst unsafe.Pointer, ds int64, src unsafe.Pointer, ss, n int64) {
	d, s := int64(0), int64(0)
	for ; n >= 4; n -= 4 {
		*(*T)(unsafe.Add(dst, d)) = *(*T)(unsafe.Add(src, s))
		*(*T)(unsafe.Add(dst, d+ds)) = *(*T)(unsafe.Add(src, s+ss))
		*(*T)(unsafe.Add(dst, d+2*ds)) = *(*T)(unsafe.Add(src, s+2*ss))
		*(*T)(unsafe.Add(dst, d+3*ds)) = *(*T)(unsafe.Add(src, s+3*ss))
		d += 4 * ds
		s += 4 * ss
	}
	for ; n > 0; n-- {
		*(*T)(unsafe.Add(dst, d)) = *(*T)(unsafe.Add(src, s))
		d += ds
		s += ss
	}
}

// stridedEnds is strided for blocks of one to two words: a word at the start and
// one rest bytes on.
func stridedEnds[T word](dst unsafe.Pointer, ds int64, src unsafe.Pointer, ss, n, rest int64) {
	for d, s := int64(0), int64(0); n > 0; n-- {
		ends[T](unsafe.Add(dst, d), unsafe.Add(src, s), rest)
		d += ds
		s += ss
	}
}

// transferIndexed copies blocks of blk bytes at user+off+disps[i], contiguous
// from packed+pos on.
func transferIndexed(w way, user unsafe.Pointer, off int64, disps []int64, packed unsafe.Pointer, pos, blk int64) {
	switch blk {
	case 4:
		listed[uint32](w, user, off, disps, packed, pos)
	case 8:
		listed[uint64](w, user, off, disps, packed, pos)
	case 16:
		listed[[2]uint64](w, user, off, disps, packed, pos)
	default:
		for _, d := range disps {
			transfer(w, user, off+d, packed, pos, blk)
			pos += blk
		}
	}
}

// listed copies one word per displacement.
func listed[T word](w way, user unsafe.Pointer, off int64, disps []int64, packed unsafe.Pointer, pos int64) {
	size := int64(unsafe.Sizeof(*new(T)))
	if w == gather {
		for _, d := range disps {
			*(*T)(unsafe.Add(packed, pos)) = *(*T)(unsafe.Add(user, off+d))
			pos += size
		}
		return
	}
	for _, d := range disps {
		*(*T)(unsafe.Add(user, off+d)) = *(*T)(unsafe.Add(packed, pos))
		pos += size
	}
}
