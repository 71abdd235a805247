// Package stats holds a job's counters in its pool, where others may look at
// them while it runs. The engine and the shim count (Table), `cmpi stats` and
// `cmpi top` look (Read).
//
// Each rank of a job that counts has an object "j/<job>/stats/<rank>":
//
//	0        64             192              192+192n
//	+--------+--------------+----------------+
//	| header | Rank         | Pair per rank  |
//	+--------+--------------+----------------+
//	  one writer, the rank; words of 8 bytes, in the processor's byte order
//
// In coherent memory the counters are counted there, so that what one sees is
// exact. Elsewhere that would cost a write to far memory for each count: there the
// rank counts in memory of its own, and Publish copies it, some times a second.
//
// The invariant: a counter is a word that only its rank writes and that only
// grows, but for those called gauges. Nothing more is promised; words that are
// read one after the other are not of one moment.
//
// Whoever reads them trusts nothing: the number of ranks in a header, and the
// length of an object, are checked before they are used, and a count is a number
// that is shown, never one that is counted on.
package stats

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"cmpi/arena"
	"cmpi/flush"
)

// Traffic is how many things there were and how many bytes they had.
type Traffic struct {
	Count uint64 `json:"count"`
	Bytes uint64 `json:"bytes"`
}

// Add counts one thing. Unlike a plain addition it may be called by several
// threads at one time.
func (t *Traffic) Add(bytes uint64) {
	atomic.AddUint64(&t.Count, 1)
	atomic.AddUint64(&t.Bytes, bytes)
}

func (t *Traffic) add(o Traffic) {
	t.Count += o.Count
	t.Bytes += o.Bytes
}

// Pair is what a rank has done with another (or with itself).
type Pair struct {
	// Messages sent to it, by protocol: in the ring by the engine, in the ring by
	// the fast path in C, through a staging block, by the kernel from process to
	// process, through the ring piece by piece for want of room.
	Eager    Traffic `json:"eager"`
	Fast     Traffic `json:"fast"`
	Staged   Traffic `json:"staged"`
	Single   Traffic `json:"single_copy"`
	Streamed Traffic `json:"streamed"`
	// Messages that have come from it.
	Received Traffic `json:"received"`
	// Operations on windows with it as their target; updates are accumulates and
	// their kin.
	Puts    Traffic `json:"puts"`
	Gets    Traffic `json:"gets"`
	Updates Traffic `json:"updates"`

	_ [6]uint64 // to the end of the third line
}

// Sent is all messages to the rank.
func (p *Pair) Sent() (t Traffic) {
	for _, o := range []Traffic{p.Eager, p.Fast, p.Staged, p.Single, p.Streamed} {
		t.add(o)
	}
	return t
}

// Rank is what a rank counts for itself.
type Rank struct {
	Unexpected uint64       `json:"unexpected"`   // messages that came before their receive
	Spins      uint64       `json:"spins"`        // waiting: pauses of some 10 ns
	Yields     uint64       `json:"yields"`       // waiting: the processor was offered to others
	Naps       uint64       `json:"naps"`         // waiting: sleeps of 50 µs
	PoolBytes  uint64       `json:"pool_bytes"`   // gauge: of the pool, for rings and staging
	RingsOut   uint64       `json:"rings_out"`    // rings made
	RingsIn    uint64       `json:"rings_in"`     // rings found
	Broken     uint64       `json:"broken_peers"` // ranks whose memory made no sense
	Lines      flush.Counts `json:"lines"`        // cache lines, where memory is not coherent
	_          [6]uint64    // to the end of the second line
}

const (
	lineSize = flush.LineSize
	rankAt   = lineSize
	pairsAt  = rankAt + int64(unsafe.Sizeof(Rank{}))
	pairSize = int64(unsafe.Sizeof(Pair{}))

	magic   = 0x3154415453494d43 // "CMISTAT1"
	version = 1
	// maxRanks is the engine's.
	maxRanks = 1 << 24
)

// Size is the length in bytes of the object of a rank of a job with n ranks.
func Size(n int) int64 { return pairsAt + int64(n)*pairSize }

// Name is the name of that object.
func Name(job string, rank int) string { return fmt.Sprintf("j/%s/stats/%d", job, rank) }

// header says whose counters they are.
//
//	0 magic | 8 version | 12 rank | 16 ranks | 20 pid | 24 mode | 28 – | 32 start, ns since 1970
type header struct {
	rank, ranks, pid uint32
	mode             flush.Mode
	started          int64
}

func (h header) encode() (b [lineSize]byte) {
	binary.NativeEndian.PutUint64(b[0:], magic)
	binary.NativeEndian.PutUint32(b[8:], version)
	binary.NativeEndian.PutUint32(b[12:], h.rank)
	binary.NativeEndian.PutUint32(b[16:], h.ranks)
	binary.NativeEndian.PutUint32(b[20:], h.pid)
	binary.NativeEndian.PutUint32(b[24:], uint32(h.mode))
	binary.NativeEndian.PutUint64(b[32:], uint64(h.started))
	return b
}

// Errors of reading.
var (
	ErrFormat  = errors.New("not counters of a rank")
	ErrVersion = errors.New("counters of another version of the library")
)

// decodeHeader reads the header of counters that are length bytes long.
func decodeHeader(b []byte, length int64) (h header, err error) {
	if len(b) < lineSize || binary.NativeEndian.Uint64(b) != magic {
		return h, ErrFormat
	}
	if v := binary.NativeEndian.Uint32(b[8:]); v != version {
		return h, fmt.Errorf("%w: version %d, this command reads %d", ErrVersion, v, version)
	}
	h.rank, h.ranks = binary.NativeEndian.Uint32(b[12:]), binary.NativeEndian.Uint32(b[16:])
	h.pid, h.mode = binary.NativeEndian.Uint32(b[20:]), flush.Mode(binary.NativeEndian.Uint32(b[24:]))
	h.started = int64(binary.NativeEndian.Uint64(b[32:]))
	if h.ranks == 0 || h.ranks > maxRanks || h.rank >= h.ranks || length < Size(int(h.ranks)) {
		return h, ErrFormat
	}
	return h, nil
}

// Table is a rank's own counters. Its fields point to what is counted: add to
// them without more ado, from the one thread that owns the engine.
type Table struct {
	*Rank
	Pairs []Pair // by rank of the job

	obj  *arena.Object
	view *flush.View
	mine []byte // private memory that is to be published; nil in coherent memory
	last []byte // what was
}

// New makes the counters of a rank, all zero. Errors: those of arena.Create.
func New(a *arena.Arena, job string, rank, ranks int) (*Table, error) {
	n := Size(ranks)
	obj, err := a.Create(Name(job, rank), n)
	if errors.Is(err, arena.ErrExists) { // of an earlier job of that name, whose rank was killed
		if err = a.Destroy(Name(job, rank)); err == nil {
			obj, err = a.Create(Name(job, rank), n)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("no room for the counters of rank %d: %w", rank, err)
	}
	t := &Table{obj: obj, view: a.View()}
	base := obj.Addr()
	if t.view.Mode() != flush.Coherent {
		// Of words, so that it is aligned.
		t.mine = unsafe.Slice((*byte)(unsafe.Pointer(&make([]uint64, n/8)[0])), n)
		t.last = make([]byte, n)
		base = unsafe.Pointer(&t.mine[0])
	}
	t.Rank = (*Rank)(unsafe.Add(base, rankAt))
	t.Pairs = unsafe.Slice((*Pair)(unsafe.Add(base, pairsAt)), ranks)
	h := header{uint32(rank), uint32(ranks), uint32(os.Getpid()), t.view.Mode(), time.Now().UnixNano()}.encode()
	if t.mine != nil {
		t.view.Count(&t.Lines)
	}
	copy(unsafe.Slice((*byte)(base), lineSize), h[:])
	t.Publish()
	return t, nil
}

// Publish shows others the counters as they are. In coherent memory they always
// are. It may be called while another thread counts: words are read whole.
func (t *Table) Publish() {
	if t.mine == nil {
		return
	}
	var line [lineSize]byte
	for off := 0; off < len(t.mine); off += lineSize {
		for i := 0; i < lineSize; i += 8 {
			word := atomic.LoadUint64((*uint64)(unsafe.Pointer(&t.mine[off+i])))
			binary.NativeEndian.PutUint64(line[i:], word)
		}
		if line != [lineSize]byte(t.last[off:]) {
			copy(t.last[off:], line[:])
			t.view.CopyIn(unsafe.Add(t.obj.Addr(), off), unsafe.Pointer(&line), lineSize)
		}
	}
	t.view.Fence()
}

// Drop gives the memory back; the counters must not be used any more.
func (t *Table) Drop() error {
	t.view.Count(nil)
	return t.obj.Destroy()
}
