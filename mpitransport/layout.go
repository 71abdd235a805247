package mpitransport

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"cmpi/flush"
)

// This file holds every layout of the engine in shared memory, and what turns
// bytes read from it into values.

const line = flush.LineSize

// The root object "j/<job>/root": one line that describes it, then per rank
// one line of each kind. Every line has one writer: line 0 rank 0, the others
// the rank they belong to.
//
//	0        64              64+64n       64+128n       64+192n      64+256n      64+320n
//	+--------+---------------+------------+-------------+------------+------------+
//	| header | barrier lines | info lines | board lines | beat lines | bell lines |
//	+--------+---------------+------------+-------------+------------+------------+
//	barrier line: +0 sequence number of the last barrier entered, keyed by epoch
//	info line:    flagged line with rankInfo, word = epoch | 1
//	board line:   +0 number of rings this rank has opened, +8 offset of the first
//	beat line:    +0 number of signs of life given (watch.go), keyed by epoch
//	bell line:    +0 number of rings that the ranks of one bell have opened (bell.go)
const (
	rootMagic   = 0x31544f4f52494d43 // "CMIROOT1"
	rootVersion = 2
)

func rootSize(n int) int64         { return int64(line * (1 + 5*n)) }
func barrierAt(rank, _ int) int64  { return int64(line * (1 + rank)) }
func infoAt(rank, n int) int64     { return int64(line * (1 + n + rank)) }
func boardAt(rank, n int) int64    { return int64(line * (1 + 2*n + rank)) }
func beatAt(rank, n int) int64     { return int64(line * (1 + 3*n + rank)) }
func bellAt(rank, n int) int64     { return int64(line * (1 + 4*n + rank)) }
func boardFirst(rank, n int) int64 { return boardAt(rank, n) + 8 }

// rootHeader is the flagged header line of the root object; its word is the
// epoch, a random odd number that sets this job apart from earlier ones.
type rootHeader struct {
	magic   uint64
	version uint32
	ranks   uint32
	epoch   uint64
}

func (h rootHeader) encode() (l [line]byte) {
	binary.LittleEndian.PutUint64(l[0:], h.magic)
	binary.LittleEndian.PutUint32(l[8:], h.version)
	binary.LittleEndian.PutUint32(l[12:], h.ranks)
	binary.LittleEndian.PutUint64(l[16:], h.epoch)
	binary.LittleEndian.PutUint64(l[flush.LinePayload:], h.epoch)
	return l
}

func decodeRootHeader(l *[line]byte) rootHeader {
	return rootHeader{
		magic:   binary.LittleEndian.Uint64(l[0:]),
		version: binary.LittleEndian.Uint32(l[8:]),
		ranks:   binary.LittleEndian.Uint32(l[12:]),
		epoch:   binary.LittleEndian.Uint64(l[16:]),
	}
}

// rankInfo is what a rank tells the others of itself.
type rankInfo struct {
	pid   uint32
	uid   uint32
	pidns uint64 // its pid namespace (pidNamespace)
	probe uint64 // address of a word that holds the job's epoch
	host  [16]byte
	cpus  cpuSet
}

// cpuSet is a set of processors, number n at bit n mod 128: exact up to 128
// processors, on larger machines a lower bound of how many there are.
type cpuSet [2]uint64

func (s *cpuSet) add(t cpuSet) {
	s[0] |= t[0]
	s[1] |= t[1]
}

func (s cpuSet) count() int { return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) }

func (i rankInfo) encode(word uint64) (l [line]byte) {
	binary.LittleEndian.PutUint32(l[0:], i.pid)
	binary.LittleEndian.PutUint32(l[4:], i.uid)
	binary.LittleEndian.PutUint64(l[8:], i.pidns)
	binary.LittleEndian.PutUint64(l[16:], i.probe)
	copy(l[24:40], i.host[:])
	binary.LittleEndian.PutUint64(l[40:], i.cpus[0])
	binary.LittleEndian.PutUint64(l[48:], i.cpus[1])
	binary.LittleEndian.PutUint64(l[flush.LinePayload:], word)
	return l
}

func decodeRankInfo(l *[line]byte) (i rankInfo) {
	i.pid = binary.LittleEndian.Uint32(l[0:])
	i.uid = binary.LittleEndian.Uint32(l[4:])
	i.pidns = binary.LittleEndian.Uint64(l[8:])
	i.probe = binary.LittleEndian.Uint64(l[16:])
	copy(i.host[:], l[24:40])
	i.cpus = cpuSet{binary.LittleEndian.Uint64(l[40:]), binary.LittleEndian.Uint64(l[48:])}
	return i
}

// A ring in the pool: a flagged header line, a line that links to the next
// ring that the same sender opened, then the region of package ringq.
//
//	+0  ringHeader, word = epoch      +64  offset of the sender's next ring, 0 = none yet
//	+128 ringq region
const (
	ringMagic    = 0x31474e4952494d43 // "CMIRING1"
	ringNextAt   = line
	ringRegionAt = 2 * line
)

type ringHeader struct {
	magic    uint64
	src, dst uint32
	lines    uint32
	seqBits  uint16
	kind     uint16
	key      uint64
}

func (h ringHeader) encode(epoch uint64) (l [line]byte) {
	binary.LittleEndian.PutUint64(l[0:], h.magic)
	binary.LittleEndian.PutUint32(l[8:], h.src)
	binary.LittleEndian.PutUint32(l[12:], h.dst)
	binary.LittleEndian.PutUint32(l[16:], h.lines)
	binary.LittleEndian.PutUint16(l[20:], h.seqBits)
	binary.LittleEndian.PutUint16(l[22:], h.kind)
	binary.LittleEndian.PutUint64(l[24:], h.key)
	binary.LittleEndian.PutUint64(l[flush.LinePayload:], epoch)
	return l
}

func decodeRingHeader(l *[line]byte) ringHeader {
	return ringHeader{
		magic:   binary.LittleEndian.Uint64(l[0:]),
		src:     binary.LittleEndian.Uint32(l[8:]),
		dst:     binary.LittleEndian.Uint32(l[12:]),
		lines:   binary.LittleEndian.Uint32(l[16:]),
		seqBits: binary.LittleEndian.Uint16(l[20:]),
		kind:    binary.LittleEndian.Uint16(l[22:]),
		key:     binary.LittleEndian.Uint64(l[24:]),
	}
}

// msgKind is the kind of a ring message.
type msgKind uint8

const (
	// msgEager carries the data of a standard or ready send.
	msgEager msgKind = iota + 1
	// msgEagerSync is the same for a synchronous send; the sender's request
	// id (8 bytes) stands before the data.
	msgEagerSync
	// msgStaged announces data in a staging block: an rts.
	msgStaged
	// msgSingle announces data in the sender's memory: an rts.
	msgSingle
	// msgAck acknowledges a msgEagerSync: 8 bytes of request id.
	msgAck
	// msgRescue carries data that was announced by msgSingle and that the
	// receiver could not read: 8 bytes of descriptor offset, then the data.
	msgRescue
)

const prefixLen = 8

// rts announces a message whose data lies elsewhere.
type rts struct {
	total uint64 // packed bytes of the message
	off   uint64 // staging block or descriptor, offset in the pool
	size  uint64 // staged: capacity of the block; single: address of the data in the sender
	gen   uint64 // staged: generation of the block's progress words (16 bits), rtsSync
}

const rtsLen = 32

func (m rts) encode(l *[rtsLen]byte) {
	binary.LittleEndian.PutUint64(l[0:], m.total)
	binary.LittleEndian.PutUint64(l[8:], m.off)
	binary.LittleEndian.PutUint64(l[16:], m.size)
	binary.LittleEndian.PutUint64(l[24:], m.gen)
}

func decodeRTS(l *[rtsLen]byte) rts {
	return rts{
		total: binary.LittleEndian.Uint64(l[0:]),
		off:   binary.LittleEndian.Uint64(l[8:]),
		size:  binary.LittleEndian.Uint64(l[16:]),
		gen:   binary.LittleEndian.Uint64(l[24:]),
	}
}

// A staging block: one line written by the sender, one by the receiver, data.
//
//	+0 bytes written so far | generation   +64 bytes consumed so far | matched | generation
//	+128 data, a circle of size bytes
//
// The words carry the block's generation, so that neither side ever resets
// what the other writes: a word of another generation means nothing yet.
const (
	blockConsumedAt = line
	blockDataAt     = 2 * line

	progressBits = 47
	progressMask = 1<<progressBits - 1
	matchedFlag  = 1 << progressBits
	genShift     = 48
)

// maxMessage is the longest message in bytes that the engine carries.
const maxMessage = progressMask

// progressOf reads a progress word of generation gen: bytes and matched flag.
func progressOf(word uint64, gen uint16) (bytes uint64, matched bool) {
	if uint16(word>>genShift) != gen {
		return 0, false
	}
	return word & progressMask, word&matchedFlag != 0
}

// A single-copy descriptor, used inside one coherence domain only, where CPU
// atomics work:
//
//	+0  state (receiver writes), +8 address of the receiver's buffer, +16 its usable bytes
//	+64 next chunk to copy (both, atomically), +72 bytes copied (both, atomically)
const (
	descSize    = 2 * line
	descStateAt = 0
	descAddrAt  = 8
	descLenAt   = 16
	descNextAt  = line
	descDoneAt  = line + 8

	descPosted  = 0
	descMatched = 1 // the receiver's buffer is published; both sides may copy
	descDone    = 2 // every byte is copied
	descRefused = 3 // the receiver can't read the sender's memory
	descFailed  = 4 // the sender could not write the receiver's buffer
)

func word64(p unsafe.Pointer) *uint64 { return (*uint64)(p) }
