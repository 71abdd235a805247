package mpitransport

import (
	"sync/atomic"
	"unsafe"
)

// Single copy: inside one coherence domain the kernel can copy from one
// process's memory to another's. The sender announces address and length in a
// descriptor; once the receiver has matched the message and published its own
// buffer there, both sides claim chunks from one counter and copy them, the
// receiver by reading the sender's memory, the sender, if it happens to be in
// the library, by writing the receiver's.

const (
	// singleChunk is what one system call copies: long enough to hide its
	// cost (about 1 µs beside 5 µs), short enough to share 128 KiB.
	singleChunk = 64 << 10
	// descWindow limits how many pending descriptors one pass looks at.
	descWindow = 16
)

// singleState says whether single copy works with a peer.
type singleState uint8

const (
	singleUnknown singleState = iota
	singleWorks
	singleRefused
)

// canSingle reports whether this process may read and write the memory of p's:
// same coherence domain, same pid namespace, and the kernel lets us (users,
// ptrace_scope, seccomp), which one probe of each tells.
func (e *Endpoint) canSingle(p *peer) bool {
	if p.single != singleUnknown {
		return p.single == singleWorks
	}
	p.single = singleRefused
	self := &e.peers[e.rank].info
	if !p.medium.coherent || e.cfg.NoSingleCopy || !singleCopySupported || p.info.pid == 0 || p.info.host != self.host || p.info.pidns != self.pidns || self.pidns == 0 {
		return false
	}
	var word uint64
	if !e.iov.copyFrom(p.info.pid, unsafe.Pointer(&word), p.info.probe, 8) || word != e.epoch {
		return false
	}
	if !e.iov.copyTo(p.info.pid, unsafe.Pointer(&word), p.info.probe, 8) {
		return false
	}
	p.single = singleWorks
	return true
}

// takeDesc reserves a descriptor for r.
func (e *Endpoint) takeDesc(r *Request) bool {
	m := r.peer.medium
	if n := len(m.descs); n > 0 {
		r.desc = m.descs[n-1]
		m.descs = m.descs[:n-1]
	} else {
		off, err := m.segs.alloc(descSize)
		if err != nil {
			return false
		}
		r.desc = off
	}
	d := m.at(r.desc)
	atomic.StoreUint64(word64(unsafe.Add(d, descNextAt)), 0)
	atomic.StoreUint64(word64(unsafe.Add(d, descDoneAt)), 0)
	atomic.StoreUint64(word64(unsafe.Add(d, descStateAt)), descPosted)
	return true
}

func chunks(n int64) uint64 { return uint64((n + singleChunk - 1) / singleChunk) }

// claim takes the next chunk of usable bytes that nobody copies yet.
func claim(d unsafe.Pointer, usable int64) (from, n int64, ok bool) {
	next := word64(unsafe.Add(d, descNextAt))
	if atomic.LoadUint64(next) >= chunks(usable) {
		return 0, 0, false
	}
	i := atomic.AddUint64(next, 1) - 1
	if i >= chunks(usable) {
		return 0, 0, false
	}
	from = int64(i) * singleChunk
	return from, min(singleChunk, usable-from), true
}

func copied(d unsafe.Pointer, n int64) {
	atomic.AddUint64(word64(unsafe.Add(d, descDoneAt)), uint64(n))
}

func setState(d unsafe.Pointer, s uint64) { atomic.StoreUint64(word64(unsafe.Add(d, descStateAt)), s) }

// startSingle begins to receive a message that lies in the sender's memory.
// The message's length stays in r.off until the data has come.
func (e *Endpoint) startSingle(r *Request, m *Message) {
	d := m.peer.medium.at(int64(m.rts.off))
	r.desc = int64(m.rts.off)
	r.src = m.rts.size
	r.total = m.total
	r.usable = min(m.total, r.bytes)
	r.from = m.peer
	if !e.canSingle(m.peer) {
		setState(d, descRefused)
		e.rescues = append(e.rescues, r)
		return
	}
	var addr, n uint64
	if r.contig {
		addr, n = uint64(uintptr(r.ptr)), uint64(r.usable)
	}
	atomic.StoreUint64(word64(unsafe.Add(d, descAddrAt)), addr)
	atomic.StoreUint64(word64(unsafe.Add(d, descLenAt)), n)
	setState(d, descMatched)
	if ended, _ := e.stepSingleIn(r); !ended {
		e.singleIn = append(e.singleIn, r)
	}
}

// stepSingleIn copies at most stepLimit bytes for r.
func (e *Endpoint) stepSingleIn(r *Request) (ended, moved bool) {
	d := r.from.medium.at(r.desc)
	for n := int64(0); n < stepLimit; {
		from, c, ok := claim(d, r.usable)
		if !ok {
			break
		}
		if !e.readSingle(r, from, c) {
			warn("rank %d: can't read %d bytes at %#x of the sender's memory", r.from.world, c, r.src+uint64(from))
			setState(d, descDone)
			e.fail(r, ErrOther)
			return true, true
		}
		copied(d, c)
		n += c
		moved = true
	}
	if atomic.LoadUint64(word64(unsafe.Add(d, descDoneAt))) < uint64(r.usable) {
		if atomic.LoadUint64(word64(unsafe.Add(d, descStateAt))) == descFailed {
			setState(d, descDone)
			e.fail(r, ErrOther)
			return true, true
		}
		return false, moved
	}
	setState(d, descDone)
	e.received(r, r.total)
	return true, true
}

// readSingle copies bytes [from, from+n) of the sender's message into r.
func (e *Endpoint) readSingle(r *Request, from, n int64) bool {
	if r.contig {
		return e.iov.copyFrom(r.from.info.pid, ptrAt(r.ptr, from), r.src+uint64(from), int(n))
	}
	for done := int64(0); done < n; {
		c := min(n-done, int64(len(e.scratch)))
		if !e.iov.copyFrom(r.from.info.pid, unsafe.Pointer(&e.scratch[0]), r.src+uint64(from+done), int(c)) {
			return false
		}
		r.typ.Unpack(r.buf, unsafe.Pointer(&e.scratch[0]), r.count, from+done, c)
		done += c
	}
	return true
}

// stepSingleOut helps with one chunk of r's message, or ends r.
func (e *Endpoint) stepSingleOut(r *Request) (ended, moved bool) {
	d := r.peer.medium.at(r.desc)
	switch atomic.LoadUint64(word64(unsafe.Add(d, descStateAt))) {
	case descDone:
		r.peer.medium.descs = append(r.peer.medium.descs, r.desc)
		e.complete(r)
		return true, true
	case descRefused:
		// Through the ring then; the receiver waits for it under this
		// descriptor's offset.
		r.peer.single = singleRefused
		r.rescue, r.stage, r.proto = true, sendQueued, protoEager
		e.enqueue(r.peer, r)
		return true, true
	case descMatched:
		addr := atomic.LoadUint64(word64(unsafe.Add(d, descAddrAt)))
		usable := min(int64(atomic.LoadUint64(word64(unsafe.Add(d, descLenAt)))), r.bytes)
		if usable <= 0 {
			return false, false
		}
		from, n, ok := claim(d, usable)
		if !ok {
			return false, false
		}
		if !e.iov.copyTo(r.peer.info.pid, ptrAt(r.ptr, from), addr+uint64(from), int(n)) {
			setState(d, descFailed)
			return false, true
		}
		copied(d, n)
		return false, true
	}
	return false, false
}
