package arena

import (
	"unsafe"

	"cmpi/flush"
)

// All access to a pool's metadata goes through these few functions. Offsets
// come from geometry or were checked against it; a wrong one is a bug here, not
// a bad pool, so it panics like a slice index.

// at is the address of offset off as this process loads and stores it.
func (a *Arena) at(off, n int64) unsafe.Pointer {
	if off < 0 || n < 0 || off > a.geo.size-n {
		panic("arena: offset outside the pool")
	}
	return unsafe.Add(a.meta.Base(), off)
}

// load is a fresh look at a word that others write.
func (a *Arena) load(off int64) uint64 { return a.meta.Load64(a.at(off, 8)) }

// store makes a word visible to every host before it returns.
func (a *Arena) store(off int64, x uint64) { a.meta.Store64(a.at(off, 8), x) }

// read is a fresh copy of whole lines.
func (a *Arena) read(dst []byte, off int64) {
	a.meta.CopyOut(unsafe.Pointer(unsafe.SliceData(dst)), a.at(off, int64(len(dst))), len(dst))
}

// write puts whole lines, never parts: the rest of a line might be stale in our
// cache and would be written back with it. Visible to all after fence.
func (a *Arena) write(off int64, src []byte) {
	a.meta.CopyIn(a.at(off, int64(len(src))), unsafe.Pointer(unsafe.SliceData(src)), len(src))
}

// fence makes what was written visible to every host.
func (a *Arena) fence() { a.meta.Fence() }

// dropCached drops what this host's caches hold of a range, dirty lines after
// they were written back. It never writes a clean line: that could be stale.
func (a *Arena) dropCached(v *flush.View, off, n int64) {
	v.Invalidate(unsafe.Add(v.Base(), off), int(n))
}

// zeroPage is what write clears with.
var zeroPage [64 << 10]byte

// clearRange writes zeroes to a range; visible to all after fence.
func (a *Arena) clearRange(off, n int64) {
	for n > 0 {
		k := min(n, int64(len(zeroPage)))
		a.write(off, zeroPage[:k])
		off, n = off+k, n-k
	}
}
