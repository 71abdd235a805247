// Package ringq carries messages from one producer to one consumer through a
// ring in memory that both share, without atomic read-modify-write and without
// requiring that their caches are coherent.
//
// It is used by mpitransport, which keeps one ring for every ordered pair of
// ranks that have talked. Two protocols stand behind the same two interfaces:
//
//   - Line: the flag of a message travels in every cache line of it. This is
//     what the transport uses.
//   - Cell: the protocol of the cMPI paper (section 3.3): cell payload, cell
//     header and tail pointer, each flushed and fenced in turn. It is kept so
//     that the two can be compared on any machine (CMPI_RING=paper).
//
// The one invariant: every shared cache line has exactly one writer. The
// producer writes the data lines (and the tail), the consumer writes the
// credit line, for as long as the ring exists.
//
// # Region of a Line ring
//
//	offset 0        64      128      192      256                        128+64*(64+lines)
//	       +--------+-------+--------+-------+--------+- ... -+---------+- ... -+---------+
//	       | credit | empty | line 0 | empty | line 1 |       | line 64 |       | line n-1|
//	       +--------+-------+--------+-------+--------+- ... -+---------+- ... -+---------+
//	 writer: consumer        producer
//
//	one line:  0                                         56        64
//	           +-----------------------------------------+---------+
//	           | payload                                 | word    |
//	           +-----------------------------------------+---------+
//
// The word of line number p (counted from 0 over the life of the ring) is
// key | p mod 2^seqBits: it tells the consumer that the line belongs to this
// ring, this job and this lap. A line with another word, be it an old lap, a
// stale copy that a prefetcher left in the cache, or zeros, is not there yet.
// The first line of a message holds the 16-byte Header and up to 40 payload
// bytes, the following ones 56 payload bytes each.
//
// # Laps
//
// The first 64 lines are the express lines, one in each pair of lines that a
// CPU may fetch together; only first lines of messages stand there, the others
// come behind them. Usually the producer goes on to the end of the ring and
// then begins again. But while the consumer keeps up, and where the next
// message would otherwise lie across the end, a bit in the header of a message
// says that a new lap begins behind it: then both sides work on a few lines that
// stay in their first-level caches. Rings of fewer than 256 lines have neither
// express lines nor short laps.
//
// The consumer publishes how many lines it has read (the credit) after 32 lines
// at the ring's begin, a quarter of the ring further on, and at each lap's end.
// In a lap, line i may be written when all of the lap before up to line i, and
// so everything older, has been read.
//
// In coherent memory, where stores become visible in program order, only the
// first line of a message needs a word, and it is written last; the following
// lines are dense, 64 payload bytes each, if the whole message fits the ring
// at once (a bit of the header says so). The consumer only ever looks for a
// word where it expects a first line. That an earlier lap's payload has the
// expected word there would take a 64-bit number that is made of the job's
// random epoch and of a line number that has not been used yet.
package ringq

import (
	"errors"
	"fmt"
	"unsafe"

	"cmpi/flush"
)

// HeaderSize is the length of the message header in the first line, bytes.
const HeaderSize = 16

// Inline is how many payload bytes travel in the first line beside the header.
const Inline = flush.LinePayload - HeaderSize

// MaxLen is the longest payload of one message in bytes (36 bits of length).
const MaxLen = 1<<lenBits - 1

const (
	lenBits  = 36 // low bits of the second header word
	ctxBits  = 56 // low bits of the first header word
	tagShift = lenBits

	// denseFlag in the first header word, the top bit of the kind, marks a
	// dense message; lapFlag below it the last message of a lap.
	denseFlag = 1 << 63
	lapFlag   = 1 << 62
)

// MaxTag is the largest tag a header can carry (28 bits, what MPICH offers).
const MaxTag = 1<<(64-lenBits) - 1

// Header is the envelope of one message.
type Header struct {
	Kind uint8  // what the message is, for the layer above; below 64
	Ctx  uint64 // context id of the communicator, below 2^56
	Tag  uint32 // at most MaxTag
	Len  uint64 // payload bytes of the message in the ring, at most MaxLen
}

func (h Header) words() (a, b uint64) {
	return uint64(h.Kind)<<ctxBits | h.Ctx&(1<<ctxBits-1), uint64(h.Tag)<<tagShift | h.Len
}

func headerOf(a, b uint64) Header {
	return Header{Kind: uint8(a >> ctxBits), Ctx: a & (1<<ctxBits - 1), Tag: uint32(b >> tagShift), Len: b & MaxLen}
}

// Producer is the sending end of a ring. It is not safe for concurrent use.
type Producer interface {
	// Begin opens a message of h.Len bytes and pushes as much of its first n
	// bytes, which lie at p, as the ring has room for. ok is false, and
	// nothing was pushed, when there is no room for the first line or cell.
	// n must be at least min(h.Len, Inline). No message may be open.
	Begin(h Header, p unsafe.Pointer, n int) (pushed int, ok bool)
	// More pushes the next bytes of the open message from p, of which n are
	// at hand, and says how many were taken. Unless the message ends with
	// them it takes whole multiples of flush.LinePayload.
	More(p unsafe.Pointer, n int) int
	// Left is how many bytes of the open message have not been pushed.
	Left() int
}

// Consumer is the receiving end of a ring. It is not safe for concurrent use.
// Whatever the producer writes, it reads inside its region only; a message
// whose bytes never arrive stays unfinished.
type Consumer interface {
	// Poll looks for the next message. When one is there it is opened and its
	// header stored in h.
	Poll(h *Header) bool
	// Read copies the next bytes of the open message that have arrived, at
	// most n, to dst and says how many. Behind the first Inline bytes it takes
	// whole lines only, so a caller that doesn't reach for the end of the
	// message must offer room for flush.LinePayload bytes to get any.
	Read(dst unsafe.Pointer, n int) int
	// Left is how many bytes of the open message have not been read.
	Left() int
	// End closes the message, whose bytes have all been read, and gives its
	// space back to the producer.
	End()
}

// Kind names one of the protocols.
type Kind uint8

// The protocols.
const (
	Line Kind = iota // flag in every line
	Cell             // the paper's cell, header, tail
)

// ParseKind reads the value of the CMPI_RING setting.
func ParseKind(s string) (Kind, error) {
	switch s {
	case "line":
		return Line, nil
	case "paper":
		return Cell, nil
	}
	return 0, fmt.Errorf("ring protocol %q: want line or paper", s)
}

func (k Kind) String() string {
	if k == Cell {
		return "paper"
	}
	return "line"
}

// DefaultSeqBits is the width of the running line number in a line's word.
// 2^40 lines of 56 bytes are 61 TB through one ring before a word returns, and
// every line is written anew at least once in half that many.
const DefaultSeqBits = 40

// Config describes a ring. Both ends must be given the same values.
type Config struct {
	Kind Kind
	// Lines is the capacity in cache lines, a power of two of at least MinLines.
	Lines int
	// SeqBits is the width of the running number, at most DefaultSeqBits (0
	// means that). A test sets it to few bits so that each run wraps around.
	SeqBits int
	// Key identifies job and ring; its low SeqBits are ignored.
	Key uint64
	// State is where a Line ring's end keeps its LineState, nil for a place of
	// its own.
	State *LineState
}

// MinLines is the smallest ring: a message header must fit beside the credit
// granularity.
const MinLines = 8

// Errors of a bad Config or region.
var (
	ErrLines   = errors.New("ring lines must be a power of two of at least 8")
	ErrSeqBits = errors.New("ring sequence bits must exceed the bits of its line count and be at most 40")
	ErrAlign   = errors.New("ring region must be aligned to a cache line")
)

// Check says what is wrong with the shape: ErrLines or ErrSeqBits.
func (c Config) Check() error { return c.check(nil) }

func (c *Config) check(region unsafe.Pointer) error {
	if c.Lines < MinLines || c.Lines&(c.Lines-1) != 0 {
		return ErrLines
	}
	if c.SeqBits == 0 {
		c.SeqBits = DefaultSeqBits
	}
	// Two laps must differ, else last lap's line passes for this lap's.
	if c.SeqBits > DefaultSeqBits || 1<<c.SeqBits < 2*c.Lines {
		return ErrSeqBits
	}
	if uintptr(region)%flush.LineSize != 0 {
		return ErrAlign
	}
	return nil
}

// Size is the length in bytes of the region that a ring needs. It must be
// zeroed before either end is made.
func (c Config) Size() int {
	if c.Kind == Cell {
		return cellRegion(c.Lines)
	}
	if c.SeqBits == 0 {
		c.SeqBits = DefaultSeqBits
	}
	return creditSpan + (c.Lines+int(c.express()))*flush.LineSize
}

// NewProducer makes the sending end of the ring at region, an address in v's
// shared memory.
func NewProducer(v *flush.View, region unsafe.Pointer, c Config) (Producer, error) {
	if err := c.check(region); err != nil {
		return nil, err
	}
	if c.Kind == Cell {
		return newCellProducer(v, region, c), nil
	}
	return newLineProducer(v, region, c), nil
}

// NewConsumer makes the receiving end of the ring at region.
func NewConsumer(v *flush.View, region unsafe.Pointer, c Config) (Consumer, error) {
	if err := c.check(region); err != nil {
		return nil, err
	}
	if c.Kind == Cell {
		return newCellConsumer(v, region, c), nil
	}
	return newLineConsumer(v, region, c), nil
}
