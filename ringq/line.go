package ringq

import (
	"unsafe"

	"cmpi/flush"
)

// creditSpan is the distance from the region's start to the first line. The
// credit word has a line of its own (one writer per line).
const creditSpan = flush.LineSize

// LineState is the part of a line ring's end that a caller outside Go may
// advance (the C fast path of the shim): where the next line goes or comes
// from and which word it carries. It lives in the end's Go object, or in
// Config.State.
type LineState struct {
	Lines unsafe.Pointer // line 0
	Pos   uint64         // number of the next line
	Limit uint64         // producer: lines below this number may be written; consumer: lines below it are credited
	Mask  uint64         // line count - 1
	Key   uint64         // upper bits of a line's word
	Seq   uint64         // mask of the running number in the word
	Open  uint64         // bytes of the open message still to move; 0 when none is open
	Far   uint64         // producer: 1 when long runs are better left to the engine (see Distance)
}

func (s *LineState) line(pos uint64) unsafe.Pointer {
	return unsafe.Add(s.Lines, (pos&s.Mask)*flush.LineSize)
}

func (s *LineState) word(pos uint64) uint64 { return s.Key | pos&s.Seq }

func newLineState(region unsafe.Pointer, c Config) LineState {
	seq := uint64(1)<<c.SeqBits - 1
	return LineState{
		Lines: unsafe.Add(region, creditSpan),
		Mask:  uint64(c.Lines - 1),
		// A zeroed line must never pass for a written one.
		Key: c.Key&^seq | 1<<63,
		Seq: seq,
	}
}

// place moves a state to where the caller wants it.
func place(own, wanted *LineState) *LineState {
	if wanted == nil {
		return own
	}
	*wanted = *own
	return wanted
}

type lineProducer struct {
	s      *LineState
	v      *flush.View
	credit unsafe.Pointer
	cap    uint64
	line   *[flush.LineSize]byte // the line being put together
	far    Distance
	dense  uint64 // lines of the dense message being put together behind its first
	own    LineState

	coherent bool
	buf      [flush.LineSize]byte
}

func newLineProducer(v *flush.View, region unsafe.Pointer, c Config) *lineProducer {
	p := &lineProducer{v: v, coherent: v.Mode() == flush.Coherent, credit: region, cap: uint64(c.Lines), own: newLineState(region, c)}
	p.own.Limit = p.cap
	p.far.Init(v, p.cap)
	p.s = place(&p.own, c.State)
	p.line = &p.buf
	return p
}

// room is how many lines may be written, after a look at the consumer's credit
// when fewer than want are known to be free. The credit is untrusted: one that
// is not between what was known and what was written is ignored.
func (p *lineProducer) room(want uint64) uint64 {
	s := p.s
	if free := s.Limit - s.Pos; free >= want {
		return free
	}
	consumed := p.v.Load64(p.credit)
	if known := s.Limit - p.cap; consumed-known <= s.Pos-known {
		s.Limit = consumed + p.cap
	}
	return s.Limit - s.Pos
}

func (p *lineProducer) Begin(h Header, src unsafe.Pointer, n int) (int, bool) {
	s := p.s
	if s.Pos == s.Limit && p.room(1) == 0 {
		return 0, false
	}
	l := p.line
	a, b := h.words()
	in := min(int(h.Len), Inline)
	if p.coherent && n > in && uint64(n) == h.Len && p.putDense(unsafe.Add(src, in), n-in) {
		*(*uint64)(unsafe.Pointer(&l[0])) = a | denseFlag
		in, s.Open = n, 0
	} else {
		*(*uint64)(unsafe.Pointer(&l[0])) = a
		s.Open = h.Len - uint64(in)
	}
	*(*uint64)(unsafe.Pointer(&l[8])) = b
	if in > 0 {
		first := min(in, Inline)
		copy(l[HeaderSize:HeaderSize+first], unsafe.Slice((*byte)(src), first))
	}
	*(*uint64)(unsafe.Pointer(&l[flush.LinePayload])) = s.word(s.Pos)
	p.v.PutLine(s.line(s.Pos), unsafe.Pointer(l))
	s.Pos += 1 + p.dense
	p.dense = 0
	if s.Open == 0 || n == in {
		p.v.Fence()
		return in, true
	}
	return in + p.More(unsafe.Add(src, in), n-in), true
}

// putDense writes n bytes, the rest of a message, to the lines behind the one
// at Pos, which the caller then writes; false when there is no room for all of
// them.
func (p *lineProducer) putDense(src unsafe.Pointer, n int) bool {
	s := p.s
	lines := denseLines(n)
	if lines >= p.cap/2 || p.room(lines+1) < lines+1 {
		return false
	}
	v := p.far.Start(s.Pos, n)
	// Up to the end of the ring, then from its begin.
	run := min(n, int(p.cap-(s.Pos+1)&s.Mask)*flush.LineSize)
	v.CopyIn(s.line(s.Pos+1), src, run)
	if run < n {
		v.CopyIn(s.line(0), unsafe.Add(src, run), n-run)
	}
	if tail := n % flush.LineSize; tail > 0 && tail <= flush.LinePayload {
		// The last line must not keep the word of an earlier lap, which would
		// be a later lap's expected one when the running number has wrapped.
		*(*uint64)(unsafe.Add(s.line(s.Pos+lines), flush.LinePayload)) = 0
	}
	v.Fence()
	s.Far = p.far.Stop(int(lines))
	p.dense = lines
	return true
}

// denseLines is how many lines n bytes take without flags.
func denseLines(n int) uint64 { return uint64(n+flush.LineSize-1) / flush.LineSize }

func (p *lineProducer) More(src unsafe.Pointer, n int) int {
	s := p.s
	last := uint64(n) >= s.Open
	if last {
		n = int(s.Open)
	} else {
		n -= n % flush.LinePayload
	}
	lines := uint64((n + flush.LinePayload - 1) / flush.LinePayload)
	if free := p.room(min(lines, p.cap/2)); free < lines {
		lines = free
		n = int(lines) * flush.LinePayload
	}
	for done := 0; done < n; {
		// Up to the end of the ring, where the running number may wrap too
		// (the sequence space is a multiple of the ring).
		run := min(int(p.cap-s.Pos&s.Mask)*flush.LinePayload, n-done)
		v := p.far.Start(s.Pos, run)
		lines := v.PutLines(s.line(s.Pos), unsafe.Add(src, done), run, s.word(s.Pos))
		v.Fence()
		s.Far = p.far.Stop(lines)
		s.Pos += uint64(lines)
		done += run
	}
	s.Open -= uint64(n)
	return n
}

func (p *lineProducer) Left() int { return int(p.s.Open) }

type lineConsumer struct {
	s      *LineState
	v      *flush.View
	credit unsafe.Pointer
	batch  uint64                // lines consumed before the credit is published
	first  *[flush.LineSize]byte // private copy of the message's first line
	inline int                   // payload bytes in first
	used   int                   // of which read
	dense  uint64                // lines behind the first that hold payload without flags
	rest   int                   // payload bytes in those
	own    LineState
	buf    [flush.LineSize]byte
}

func newLineConsumer(v *flush.View, region unsafe.Pointer, c Config) *lineConsumer {
	k := &lineConsumer{v: v, credit: region, own: newLineState(region, c)}
	k.s = place(&k.own, c.State)
	k.first = &k.buf
	// A quarter of the ring: seldom enough not to take the credit line from
	// the producer at each message, often enough that it never runs dry.
	k.batch = uint64(c.Lines / 4)
	return k
}

func (k *lineConsumer) Poll(h *Header) bool {
	s := k.s
	if !k.v.GetLine(unsafe.Pointer(k.first), s.line(s.Pos), s.word(s.Pos)) {
		return false
	}
	s.Pos++
	a := *(*uint64)(unsafe.Pointer(&k.first[0]))
	*h = headerOf(a&^denseFlag, *(*uint64)(unsafe.Pointer(&k.first[8])))
	s.Open = h.Len
	k.inline = min(int(h.Len), Inline)
	k.used, k.dense = 0, 0
	if a&denseFlag != 0 && h.Len > Inline {
		k.rest = int(h.Len) - Inline
		k.dense = denseLines(k.rest)
		if k.dense > s.Mask {
			k.dense = 0 // no ring holds that: never completed, like any message that is not sent
		}
	}
	return true
}

func (k *lineConsumer) Read(dst unsafe.Pointer, n int) int {
	s := k.s
	n = min(n, int(s.Open))
	got := 0
	if k.used < k.inline {
		got = min(n, k.inline-k.used)
		copy(unsafe.Slice((*byte)(dst), got), k.first[HeaderSize+k.used:])
		k.used += got
		s.Open -= uint64(got)
	}
	if k.dense > 0 {
		return got + k.readDense(dst, got, n-got)
	}
	if n -= got; uint64(n) < s.Open {
		n -= n % flush.LinePayload
	}
	for n += got; got < n; {
		run := min(int(s.Mask+1-s.Pos&s.Mask)*flush.LinePayload, n-got)
		c := k.v.GetLines(unsafe.Add(dst, got), s.line(s.Pos), run, s.word(s.Pos))
		if c < run {
			c -= c % flush.LinePayload
		}
		s.Pos += uint64((c + flush.LinePayload - 1) / flush.LinePayload)
		s.Open -= uint64(c)
		got += c
		k.giveCredit()
		if c < run {
			break
		}
	}
	return got
}

// readDense copies n bytes of a dense message's lines to dst + at.
func (k *lineConsumer) readDense(dst unsafe.Pointer, at, n int) int {
	s := k.s
	for done := 0; done < n; {
		pos := k.rest - int(s.Open)
		line := s.Pos + uint64(pos)/flush.LineSize
		skip := pos % flush.LineSize
		run := min(n-done, int(s.Mask+1-line&s.Mask)*flush.LineSize-skip)
		k.v.CopyOut(unsafe.Add(dst, at+done), unsafe.Add(s.line(line), skip), run)
		s.Open -= uint64(run)
		done += run
	}
	return n
}

// giveCredit publishes how far the ring has been consumed, in batches.
func (k *lineConsumer) giveCredit() {
	if s := k.s; s.Pos-s.Limit >= k.batch {
		k.v.Store64(k.credit, s.Pos)
		s.Limit = s.Pos
	}
}

func (k *lineConsumer) Left() int { return int(k.s.Open) }

func (k *lineConsumer) End() {
	k.s.Pos += k.dense
	k.dense = 0
	k.giveCredit()
}
