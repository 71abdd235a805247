package mpitransport

import "unsafe"

// Staging: the sender copies a long message into a block of its own part of
// the pool, announces the block at once, and says in the block's progress word
// how far it has come; the receiver copies out behind it. A block as large as
// the message never needs the receiver, so the send is complete once the copy
// is; a smaller one is a circle that the receiver must empty.

const (
	// stageChunk is how much is copied between two updates of a progress word:
	// long enough that the update (two cache misses in flush mode) is a few
	// percent of the copy, short enough that both sides copy at one time from
	// 128 KiB on.
	stageChunk = 32 << 10
	// windowSize is the circle used for a message beyond what may be staged.
	windowSize = 1 << 20
	// reapPerBlock is how many blocks are looked at whenever one is taken, each
	// a cache miss.
	reapPerBlock = 2
	// stepLimit bounds the bytes copied for one message in one progress pass,
	// so that the others move too.
	stepLimit = 1 << 20
)

// outBlock is a staging block of this rank.
type outBlock struct {
	medium   *medium
	off      int64
	size     int64 // capacity
	gen      uint16
	sync     bool
	total    int64
	written  int64
	consumed int64
	matched  bool
}

const rtsSync = 1 << 16 // in the generation word: the sender waits for the match

func (b *outBlock) rts() rts {
	m := rts{total: uint64(b.total), off: uint64(b.off), size: uint64(b.size), gen: uint64(b.gen)}
	if b.sync {
		m.gen |= rtsSync
	}
	return m
}

// takeBlock reserves a block for r; false when the pool has no room or this
// rank's share of it is used up.
func (e *Endpoint) takeBlock(r *Request) bool {
	size := roundLine(max(r.bytes, 1))
	// Blocks are looked at in turn, so that about as many come back as are
	// taken and memory that is still in the caches is used again.
	e.reap(reapPerBlock)
	if e.staged+size > e.cfg.StageLimit {
		e.reap(len(e.blocks))
	}
	if e.staged+size > e.cfg.StageLimit {
		size = min(size, windowSize)
		if e.staged+size > e.cfg.StageLimit+windowSize {
			return false
		}
	}
	m := r.peer.medium
	off, err := m.segs.alloc(blockDataAt + size)
	if err != nil {
		return false
	}
	// A generation is never zero, so that a fresh block's words mean nothing.
	if e.blockGen++; e.blockGen == 0 {
		e.blockGen = 1
	}
	e.staged += size
	r.block = &outBlock{medium: m, off: off, size: size, gen: e.blockGen, sync: r.mode == Sync, total: r.bytes}
	// The words of the block's last use, and whatever a ring left here, must
	// not carry this generation.
	at := m.at(off)
	m.view.Store64(at, 0)
	m.view.Store64(unsafe.Add(at, blockConsumedAt), 0)
	return true
}

// stepStagedOut copies on into r's block and ends r when that is all; the
// block then waits for its receiver alone.
func (e *Endpoint) stepStagedOut(r *Request) (moved bool) {
	b := r.block
	m := b.medium
	for b.written < b.total {
		room := b.consumed + b.size - b.written
		if room == 0 {
			e.readConsumed(b)
			if room = b.consumed + b.size - b.written; room == 0 {
				return moved
			}
		}
		pos := b.written % b.size
		n := min(stageChunk, room, b.size-pos, b.total-b.written)
		e.stageIn(m.at(b.off+blockDataAt+pos), r, b.written, n)
		b.written += n
		m.view.Fence()
		m.view.Store64(m.at(b.off), uint64(b.gen)<<genShift|uint64(b.written))
		moved = true
	}
	if b.sync && !b.matched {
		if e.readConsumed(b); !b.matched {
			return moved
		}
	}
	r.block = nil
	e.blocks = append(e.blocks, b)
	e.complete(r)
	return true
}

// stageIn copies bytes [from, from+n) of r's message to the pool.
func (e *Endpoint) stageIn(dst unsafe.Pointer, r *Request, from, n int64) {
	m := r.block.medium
	switch {
	case r.contig:
		m.stream.CopyIn(dst, ptrAt(r.ptr, from), int(n))
		m.stream.Fence()
	case m.coherent:
		r.typ.Pack(dst, r.buf, r.count, from, n)
	default:
		for done := int64(0); done < n; {
			c := min(n-done, int64(len(e.scratch)))
			r.typ.Pack(unsafe.Pointer(&e.scratch[0]), r.buf, r.count, from+done, c)
			m.view.CopyIn(ptrAt(dst, done), unsafe.Pointer(&e.scratch[0]), int(c))
			done += c
		}
	}
}

// readConsumed looks how far the receiver has come. What it claims is bounded
// by what was written.
func (e *Endpoint) readConsumed(b *outBlock) {
	n, matched := progressOf(b.medium.view.Load64(b.medium.at(b.off+blockConsumedAt)), b.gen)
	if int64(n) > b.consumed && int64(n) <= b.written {
		b.consumed = int64(n)
	}
	b.matched = b.matched || matched
}

// reap looks at the next n blocks in turn and frees those that their receivers
// have emptied.
func (e *Endpoint) reap(n int) (freed bool) {
	for n = min(n, len(e.blocks)); n > 0; n-- {
		if e.nextReap >= len(e.blocks) {
			e.nextReap = 0
		}
		b := e.blocks[e.nextReap]
		if e.readConsumed(b); b.consumed == b.total && b.matched {
			e.freeBlock(b)
			e.blocks = removeAt(e.blocks, e.nextReap)
			freed = true
		} else {
			e.nextReap++
		}
	}
	return freed
}

func (e *Endpoint) freeBlock(b *outBlock) {
	b.medium.segs.release(b.off, blockDataAt+b.size)
	e.staged -= b.size
}

// inflow is a message on its way into a receive request, or into the buffer of
// an unexpected message (ring messages only).
type inflow struct {
	req   *Request
	msg   *Message
	total int64 // packed bytes of the message
	got   int64 // of which moved

	// Staged messages.
	peer  *peer
	block unsafe.Pointer
	size  int64
	gen   uint16
}

// startStaged begins to copy a staged message into r.
func (e *Endpoint) startStaged(r *Request, m *Message) {
	f := &inflow{req: r, peer: m.peer, total: m.total, block: m.peer.medium.at(int64(m.rts.off)), size: int64(m.rts.size), gen: uint16(m.rts.gen)}
	if m.rts.gen&rtsSync != 0 {
		e.tellConsumed(f)
	}
	if !e.stepStagedIn(f) {
		e.stagedIn = append(e.stagedIn, f)
	}
}

func (e *Endpoint) tellConsumed(f *inflow) {
	f.peer.medium.view.Store64(unsafe.Add(f.block, blockConsumedAt), uint64(f.gen)<<genShift|matchedFlag|uint64(f.got))
}

// stepStagedIn copies what has been written since the last look; true when the
// message has ended.
func (e *Endpoint) stepStagedIn(f *inflow) (ended bool) {
	for moved := int64(0); f.got < f.total; {
		if moved >= stepLimit {
			return false
		}
		written, _ := progressOf(f.peer.medium.view.Load64(f.block), f.gen)
		n := int64(written) - f.got
		if n == 0 || written == 0 {
			return false
		}
		if n < 0 || n > f.size || int64(written) > f.total {
			e.breakPeer(f.peer, "a staging block that holds %d bytes of a message of %d, %d of them read", written, f.total, f.got)
			e.fail(f.req, ErrInternal)
			return true
		}
		for n > 0 {
			pos := f.got % f.size
			c := min(n, f.size-pos)
			e.stageOut(f.peer.medium, f.req, ptrAt(f.block, blockDataAt+pos), f.got, c)
			f.got += c
			n -= c
			moved += c
		}
		if f.size < f.total && f.got < f.total {
			e.tellConsumed(f)
		}
	}
	e.tellConsumed(f)
	e.received(f.req, f.total)
	return true
}

// stageOut copies bytes [from, from+n) of a message from the pool into r's
// buffer; those beyond its end are skipped.
func (e *Endpoint) stageOut(m *medium, r *Request, src unsafe.Pointer, from, n int64) {
	n = min(n, r.bytes-from)
	if n <= 0 {
		return
	}
	if r.contig {
		m.view.CopyOut(ptrAt(r.ptr, from), src, int(n))
		return
	}
	if m.coherent {
		r.typ.Unpack(r.buf, src, r.count, from, n)
		return
	}
	for done := int64(0); done < n; {
		c := min(n-done, int64(len(e.scratch)))
		m.view.CopyOut(unsafe.Pointer(&e.scratch[0]), ptrAt(src, done), int(c))
		r.typ.Unpack(r.buf, unsafe.Pointer(&e.scratch[0]), r.count, from+done, c)
		done += c
	}
}
