package arena

// Sizes that shape a pool. Changing any of them is a new layoutVersion.
const (
	lineSize = 64

	// granule is the unit of allocation and of everything that is reserved or
	// given back, because it is the unit in which a filesystem does so: with
	// smaller units, freeing an object could not return its memory.
	granule = 4096

	// slotSize is two cache lines: one of numbers, one for the name.
	slotSize = 128

	// levels and publishedTop are the paper's: ten levels, the largest prime
	// below 200,000 first.
	levels       = 10
	publishedTop = 199_999

	// smallestTop keeps a tiny pool's table useful: 67 … 29, 468 slots, 59 KiB.
	smallestTop = 67

	// bytesPerSlot scales the table of a pool too small for the published one:
	// a slot of 128 bytes per 8 KiB is 1.6 % of the pool.
	bytesPerSlot = 8192

	// metadataPercent is the part of a pool that metadata may take; the
	// published geometry is used as soon as it fits, which is from 8 GiB on.
	metadataPercent = 3

	// groupGranules is what one page of bitmap covers: 128 MiB.
	groupGranules = granule * 8

	hostSlots = 64 // hosts that can take part in the pool lock
	hostLines = 5  // lines per host: X, Y, claim, lock, beat

	superOff   = 0
	controlOff = granule
	hostsOff   = 2 * granule
	presentOff = hostsOff + hostSlots*hostLines*lineSize

	// The lines of the control page.
	claimsOff = controlOff              // claims word
	formatOff = controlOff + lineSize   // who formats a blank device
	rootOff   = controlOff + 2*lineSize // root A, root B
	rootLines = 2
)

// MinSize is the smallest pool, in bytes. DefaultSize is the size of a file
// pool when none is given. MaxName is the longest object name in bytes; a slot
// keeps a zero byte behind it.
const (
	MinSize     = 1 << 20
	DefaultSize = 1 << 30
	MaxName     = 63
)

// geometry says where everything is in a pool of a given size. It is computed,
// never read from the pool.
type geometry struct {
	size       int64 // bytes of the pool in use, a multiple of granule
	buckets    [levels]int64
	levelBase  [levels]int64 // index of each level's first slot
	slots      int64         // all levels together
	groups     int64         // pages of bitmap
	granules   int64         // granules of the object area
	sumOff     int64         // summaries
	lazyOff    int64         // first byte that is not initialised by format
	hashOff    int64         // = lazyOff
	bitmapOff  int64
	objLo      int64
	objHi      int64
	lazyPages  int64
	presentLen int64 // bytes of the present map
	sumLen     int64 // bytes of the summaries
}

// geometryFor lays out a pool of size bytes. It gives false when that is too
// small or too large to be a pool.
func geometryFor(size int64) (geometry, bool) {
	size -= size % granule
	if size < MinSize || size > 1<<50 {
		return geometry{}, false
	}
	g := layout(size, publishedTop)
	if g.objLo > size/100*metadataPercent {
		top := max(size/bytesPerSlot/levels, smallestTop)
		g = layout(size, min(top, publishedTop))
	}
	return g, g.objHi > g.objLo
}

// layout places the regions for a table whose first level has the largest
// prime ≤ top buckets.
func layout(size, top int64) geometry {
	g := geometry{size: size, buckets: primesFrom(top)}
	for i, n := range g.buckets {
		g.levelBase[i] = g.slots
		g.slots += n
	}
	hashLen := roundUp(g.slots*slotSize, granule)
	g.groups = roundUp(size/granule, groupGranules) / groupGranules
	bitmapLen := g.groups * granule
	g.lazyPages = (hashLen + bitmapLen) / granule
	g.presentLen = roundUp(g.lazyPages, 8*lineSize) / 8
	g.sumOff = presentOff + g.presentLen
	g.sumLen = roundUp(g.groups*sumSize, lineSize)
	g.lazyOff = roundUp(g.sumOff+g.sumLen, granule)
	g.hashOff = g.lazyOff
	g.bitmapOff = g.hashOff + hashLen
	g.objLo = g.bitmapOff + bitmapLen
	g.granules = max(0, (size-g.objLo)/granule)
	g.objHi = g.objLo + g.granules*granule
	return g
}

// groupLen is the number of granules in group i; the last groups may be short
// or empty, since groups are counted before metadata is taken off.
func (g *geometry) groupLen(i int64) int64 {
	return min(max(0, g.granules-i*groupGranules), groupGranules)
}

// slotOff is where slot i lies in the pool.
func (g *geometry) slotOff(i int64) int64 { return g.hashOff + i*slotSize }

// pageOf is the number within the lazy area of the page that holds off.
func (g *geometry) pageOf(off int64) int64 { return (off - g.lazyOff) / granule }

// validRange says whether an object of size bytes may start at off.
func (g *geometry) validRange(off, size int64) bool {
	return off >= g.objLo && off < g.objHi && (off-g.objLo)%granule == 0 &&
		size > 0 && size <= g.objHi-off
}

// primesFrom gives the ten largest primes ≤ top in descending order.
func primesFrom(top int64) (p [levels]int64) {
	n := top
	for i := range p {
		for !isPrime(n) {
			n--
		}
		p[i] = n
		n--
	}
	return p
}

func isPrime(n int64) bool {
	for d := int64(2); d*d <= n; d++ {
		if n%d == 0 {
			return false
		}
	}
	return n > 1
}

// roundUp rounds n up to a multiple of m.
func roundUp(n, m int64) int64 { return (n + m - 1) / m * m }
