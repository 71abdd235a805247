package window

import (
	"encoding/binary"
	"math"

	"cmpi/flush"
)

// Lengths in the window's object.
const (
	line    = flush.LineSize
	word    = 8
	segPage = 4096 // segments and the data area start on a page
)

// The header line: rank 0 writes it before anyone else opens the object, and the
// others compare it with what they expect. Its word (last) is the magic number.
const (
	magic   = 0x31574d52496d7063 // "cpmIRMW1" read as bytes
	version = 1
)

// Words of a member's line; the member is the writer.
const (
	joinedAt = 0 // joinedWord once the member has opened the window
	fenceAt  = 8 // fences entered
)

// Words of a lock line; a domain is the writer.
const (
	stateAt   = 0 // idle, choosing, or a ticket
	readersAt = 8 // members of the domain that hold the lock shared (epochLock)
)

// lockKind tells the two locks of a target apart.
type lockKind int

const (
	epochLock  lockKind = iota // MPI_Win_lock's: exclusive epochs stay inside
	updateLock                 // accumulates and pieces of lines
	lockKinds
)

// A domain line belongs to one domain and one target: per lock kind the member
// that is inside for the domain, as rank + 1.

// layout is where everything is, in bytes from the start of the object.
type layout struct {
	members []Member
	domains int
	domain  []int // of each member, 0 … domains-1 in order of first appearance

	locks     int64 // lock lines: [target][kind][domain]
	local     int64 // domain lines: [domain][target]
	posts     int64 // post rows: [member][member] words, padded to lines
	completes int64 // complete rows, likewise
	row       int64 // length of a row
	data      int64
	segments  []int64 // where each member's segment starts
	elsewhere bool    // … from the start of the pool, not of the object
	total     int64

	// packed: segments of two members may share a line.
	packed bool
}

// newLayout computes the layout; false if the configuration makes no sense or
// is larger than any pool.
func newLayout(c *Config) (*layout, bool) {
	n := int64(len(c.Members))
	if n == 0 || n > math.MaxInt32 || c.Rank < 0 || int64(c.Rank) >= n {
		return nil, false
	}
	l := &layout{members: c.Members, domain: make([]int, n), segments: make([]int64, n)}
	number := map[int32]int{}
	for i, m := range c.Members {
		if m.Size < 0 || m.DispUnit <= 0 {
			return nil, false
		}
		d, ok := number[m.Domain]
		if !ok {
			d = len(number)
			number[m.Domain] = d
		}
		l.domain[i] = d
	}
	l.domains = len(number)
	l.row = roundUp(n*word, line)
	l.locks = line + n*line
	l.local = l.locks + n*int64(lockKinds)*int64(l.domains)*line
	l.posts = l.local + int64(l.domains)*n*line
	l.completes = l.posts + n*l.row
	l.data = roundUp(l.completes+n*l.row, segPage)
	if c.Segments != nil {
		return l, l.placeElsewhere(c)
	}
	at := l.data
	for i, m := range c.Members {
		if !c.Contiguous {
			at = roundUp(at, segPage)
		}
		l.segments[i] = at
		if at%line != 0 && m.Size > 0 {
			l.packed = true
		}
		if m.Size > maxObject-at {
			return nil, false
		}
		at += m.Size
	}
	l.total = max(at, l.data+1)
	return l, true
}

// placeElsewhere takes the segments' places from the configuration; false if one
// isn't inside the pool's objects.
func (l *layout) placeElsewhere(c *Config) bool {
	if len(c.Segments) != len(c.Members) {
		return false
	}
	lo, hi := c.Arena.Bounds()
	for i, m := range c.Members {
		if at := c.Segments[i]; m.Size > 0 && (at < lo || at > hi || m.Size > hi-at) {
			return false
		}
	}
	l.segments, l.elsewhere, l.total = c.Segments, true, l.data+1
	return true
}

// maxObject bounds an object so that sums of offsets can't overflow.
const maxObject = 1 << 62

func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

func (l *layout) rankLine(rank int) int64 { return line + int64(rank)*line }

// lockLine is the line that domain d writes of a target's lock. The lines of all
// domains follow one another.
func (l *layout) lockLine(target int, k lockKind, d int) int64 {
	return l.locks + ((int64(target)*int64(lockKinds)+int64(k))*int64(l.domains)+int64(d))*line
}

// localWord is the word by which members of domain d exclude one another.
func (l *layout) localWord(d, target int, k lockKind) int64 {
	return l.local + (int64(d)*int64(len(l.members))+int64(target))*line + int64(k)*word
}

// postWord is how often the target has posted to the origin; the target writes.
func (l *layout) postWord(target, origin int) int64 {
	return l.posts + int64(target)*l.row + int64(origin)*word
}

// completeWord is how often the origin has completed towards the target; the
// origin writes.
func (l *layout) completeWord(origin, target int) int64 {
	return l.completes + int64(origin)*l.row + int64(target)*word
}

// firstSegment is the first member with a segment that isn't empty, or 0.
func (l *layout) firstSegment() int {
	for i, m := range l.members {
		if m.Size > 0 {
			return i
		}
	}
	return 0
}

// header is the first line of the object. The digest covers what the members
// must have in common.
func (l *layout) header(c *Config) (h [line]byte) {
	sum := uint64(14695981039346656037) // FNV-1a over words
	mix := func(x uint64) { sum = (sum ^ x) * 1099511628211 }
	for i, m := range l.members {
		mix(uint64(m.Size))
		mix(uint64(m.DispUnit))
		mix(uint64(l.domain[i]))
		mix(uint64(l.segments[i]))
	}
	flags := uint64(0)
	if c.Shared {
		flags |= 1
	}
	if c.LineWrites {
		flags |= 2
	}
	le := binary.LittleEndian
	le.PutUint32(h[0:], version)
	le.PutUint32(h[4:], uint32(len(l.members)))
	le.PutUint64(h[8:], uint64(l.total))
	le.PutUint64(h[16:], flags)
	le.PutUint64(h[24:], sum)
	le.PutUint64(h[flush.LinePayload:], magic)
	return h
}
