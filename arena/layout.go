package arena

import (
	"encoding/binary"
	"hash/crc64"
)

// crcTable is the ECMA polynomial: CRC-64 finds every error burst shorter than
// a line's word and misses other damage once in 2^64.
var crcTable = crc64.MakeTable(crc64.ECMA)

// checksum of a record; never zero, so that a line of zeroes is never valid.
func checksum(b []byte) uint64 {
	if c := crc64.Checksum(b, crcTable); c != 0 {
		return c
	}
	return 1
}

var le = binary.LittleEndian

// seal stores the checksum of b[8:] in b[0:8]; sealed verifies it.
func seal(b []byte)        { le.PutUint64(b, checksum(b[8:])) }
func sealed(b []byte) bool { return le.Uint64(b) == checksum(b[8:]) }

func zero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// state of a slot.
type state uint8

const (
	free     state = iota // the whole slot is zero
	building              // space is taken, a large object is being prepared: not yet to be opened
	ready                 // an object that can be opened
	dying                 // name is gone, space of a large object is being returned
)

// slot is one entry of the hash table.
//
//	line 0:  0 checksum of 8…127 | 8 generation | 16 offset | 24 size
//	        32 owner's start time | 40 owner's host tag | 48 pid | 52 uid
//	        56 state | 57 name length | 58 reserved (2) | 60 pid namespace
//	line 1: 64 name, zero-padded (64)
type slot struct {
	gen   uint64 // unique among all objects the pool ever had
	off   int64
	size  int64
	start uint64
	host  uint64
	pid   uint32
	uid   uint32
	pidns uint32
	state state
	name  string
}

// encode writes s as it is in the pool.
func (s *slot) encode(b *[slotSize]byte) {
	clear(b[:])
	le.PutUint64(b[8:], s.gen)
	le.PutUint64(b[16:], uint64(s.off))
	le.PutUint64(b[24:], uint64(s.size))
	le.PutUint64(b[32:], s.start)
	le.PutUint64(b[40:], s.host)
	le.PutUint32(b[48:], s.pid)
	le.PutUint32(b[52:], s.uid)
	b[56] = byte(s.state)
	b[57] = byte(len(s.name))
	le.PutUint32(b[60:], s.pidns)
	copy(b[64:64+MaxName], s.name)
	seal(b[:])
}

// decode reads a slot that was copied out of the pool. ok is false when it is
// neither free nor sound: torn, corrupt, or naming a range outside g's objects.
func (s *slot) decode(b *[slotSize]byte, g *geometry) (ok bool) {
	if zero(b[:]) {
		*s = slot{}
		return true
	}
	if !sealed(b[:]) {
		return false
	}
	n := int(b[57])
	if n == 0 || n > MaxName {
		return false
	}
	*s = slot{
		gen:   le.Uint64(b[8:]),
		off:   int64(le.Uint64(b[16:])),
		size:  int64(le.Uint64(b[24:])),
		start: le.Uint64(b[32:]),
		host:  le.Uint64(b[40:]),
		pid:   le.Uint32(b[48:]),
		uid:   le.Uint32(b[52:]),
		pidns: le.Uint32(b[60:]),
		state: state(b[56]),
		name:  string(b[64 : 64+n]),
	}
	return s.state >= building && s.state <= dying && g.validRange(s.off, s.size)
}

// rootOp says what the holder of the lock was doing.
type rootOp uint8

const (
	opIdle  rootOp = iota
	opPut          // writing the slot: it counts if it is sound, else its range is free
	opClear        // freeing the slot and its range
)

// root is the journal: one line, written twice per change (intent, idle), in
// two copies in turn so that a torn write leaves the previous one. The sound
// copy with the higher sequence number counts.
//
//	0 checksum | 8 sequence | 16 pool tag | 24 last generation given out
//	32 slot | 40 offset | 48 size | 56 op | 57 reserved
type root struct {
	seq  uint64
	tag  uint64 // first 8 bytes of the pool id: notices a pool formatted anew
	gen  uint64
	slot int64
	off  int64
	size int64
	op   rootOp
}

func (r *root) encode(b *[lineSize]byte) {
	clear(b[:])
	le.PutUint64(b[8:], r.seq)
	le.PutUint64(b[16:], r.tag)
	le.PutUint64(b[24:], r.gen)
	le.PutUint64(b[32:], uint64(r.slot))
	le.PutUint64(b[40:], uint64(r.off))
	le.PutUint64(b[48:], uint64(r.size))
	b[56] = byte(r.op)
	seal(b[:])
}

// decode reads a root record; ok is false when it is unsound or of another pool.
func (r *root) decode(b *[lineSize]byte, g *geometry, tag uint64) (ok bool) {
	if !sealed(b[:]) {
		return false
	}
	*r = root{
		seq:  le.Uint64(b[8:]),
		tag:  le.Uint64(b[16:]),
		gen:  le.Uint64(b[24:]),
		slot: int64(le.Uint64(b[32:])),
		off:  int64(le.Uint64(b[40:])),
		size: int64(le.Uint64(b[48:])),
		op:   rootOp(b[56]),
	}
	if r.tag != tag || r.op > opClear {
		return false
	}
	return r.op == opIdle ||
		r.slot >= 0 && r.slot < g.slots && g.validRange(r.off, r.size)
}

// claim says which host owns an entry of the host table.
//
//	0 checksum | 8 host id (16) | 24 claimed at, ns since 1970 | 32 host name (32)
type claim struct {
	host [16]byte
	at   int64
	name string
}

const claimName = 32

func (c *claim) encode(b *[lineSize]byte) {
	clear(b[:])
	copy(b[8:24], c.host[:])
	le.PutUint64(b[24:], uint64(c.at))
	copy(b[32:], c.name)
	seal(b[:])
}

func (c *claim) decode(b *[lineSize]byte) (ok bool) {
	if !sealed(b[:]) {
		return false
	}
	c.host = [16]byte(b[8:24])
	c.at = int64(le.Uint64(b[24:]))
	name := make([]byte, 0, claimName)
	for _, x := range b[32:] {
		if x == 0 {
			break
		}
		if x < ' ' || x > '~' {
			x = '?'
		}
		name = append(name, x)
	}
	c.name = string(name)
	return true
}

// sumSize is the size of a group's summary.
const sumSize = 8

// summary describes a group's free runs, in granules, all ≤ 32,768.
//
//	0 free run at the start | 2 longest | 4 at the end | 6 free in all
type summary struct{ start, longest, end, free uint16 }

func (s summary) encode(b []byte) {
	le.PutUint16(b[0:], s.start)
	le.PutUint16(b[2:], s.longest)
	le.PutUint16(b[4:], s.end)
	le.PutUint16(b[6:], s.free)
}

// decodeSummary reads the summary of a group of n granules; ok is false when
// the numbers contradict one another.
func decodeSummary(b []byte, n int64) (s summary, ok bool) {
	s = summary{le.Uint16(b[0:]), le.Uint16(b[2:]), le.Uint16(b[4:]), le.Uint16(b[6:])}
	ok = int64(s.free) <= n && s.longest <= s.free && s.start <= s.longest && s.end <= s.longest
	return s, ok
}

// nameHash is FNV-1a with a final mix, so that names that differ in their last
// digit only spread over all levels.
func nameHash(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(name); i++ {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return mix(h)
}

// mix is the finaliser of SplitMix64.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// hostTag is the short form in which a slot names its owner's host.
func hostTag(id [16]byte) uint64 {
	return mix(le.Uint64(id[:8]) ^ mix(le.Uint64(id[8:])+0x9e3779b97f4a7c15))
}
