package arena

import "math"

// layoutVersion changes whenever bytes in the pool change their meaning.
const layoutVersion = 2

// magic opens a pool.
const magic = "cMPIpool"

// superLen is the length of the superblock, the first lines of its page.
const superLen = 512

// Flags of the superblock.
const (
	// flagZeroFree: free granules read as zero, because the filesystem punches
	// holes (or, failing that, whoever frees clears). Without it, whoever
	// allocates clears.
	flagZeroFree = 1 << 0

	flagsKnown = flagZeroFree
)

// superblock is a pool's first page.
//
//	  0 magic (8) | 8 version | 12 flags | 16 size | 24 pool id (16)
//	 40 created, ns since 1970 | 48 levels | 52 granule
//	 56 buckets of each level (10 × 8)
//	136 offsets: summaries, hash, bitmap, objects, end of objects (5 × 8)
//	504 checksum of 0…503
//
// Geometry is there for people and other tools: we compute it from size and
// refuse a superblock that says otherwise.
type superblock struct {
	flags   uint32
	size    int64
	id      [16]byte
	created int64
}

func (s *superblock) encode(b *[superLen]byte, g *geometry) {
	clear(b[:])
	copy(b[:], magic)
	le.PutUint32(b[8:], layoutVersion)
	le.PutUint32(b[12:], s.flags)
	le.PutUint64(b[16:], uint64(s.size))
	copy(b[24:], s.id[:])
	le.PutUint64(b[40:], uint64(s.created))
	le.PutUint32(b[48:], levels)
	le.PutUint32(b[52:], granule)
	for i, n := range g.buckets {
		le.PutUint64(b[56+8*i:], uint64(n))
	}
	for i, off := range []int64{g.sumOff, g.hashOff, g.bitmapOff, g.objLo, g.objHi} {
		le.PutUint64(b[136+8*i:], uint64(off))
	}
	le.PutUint64(b[504:], checksum(b[:504]))
}

// decode validates the first bytes of a pool whose file or device is have
// bytes long. b may be shorter than superLen when the file is.
func (s *superblock) decode(b []byte, have int64) (geometry, error) {
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return geometry{}, ErrNotPool
	}
	if len(b) < superLen {
		return geometry{}, faultf(ErrTruncated, "%d bytes", have)
	}
	if v := le.Uint32(b[8:]); v != layoutVersion {
		return geometry{}, faultf(ErrVersion, "version %d, this library makes version %d", v, layoutVersion)
	}
	if le.Uint64(b[504:]) != checksum(b[:504]) {
		return geometry{}, faultf(ErrCorrupt, "checksum of the superblock")
	}
	*s = superblock{
		flags:   le.Uint32(b[12:]),
		id:      [16]byte(b[24:40]),
		created: int64(le.Uint64(b[40:])),
	}
	size := le.Uint64(b[16:])
	if size > math.MaxInt64 {
		return geometry{}, faultf(ErrCorrupt, "size in the superblock")
	}
	s.size = int64(size)
	if s.size > have {
		return geometry{}, faultf(ErrTruncated, "%d of %d bytes", have, s.size)
	}
	g, ok := geometryFor(s.size)
	if !ok || s.flags&^flagsKnown != 0 {
		return geometry{}, faultf(ErrCorrupt, "size or flags in the superblock")
	}
	var want [superLen]byte
	s.encode(&want, &g)
	if want != [superLen]byte(b[:superLen]) {
		return geometry{}, faultf(ErrCorrupt, "geometry in the superblock")
	}
	return g, nil
}
