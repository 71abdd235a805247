package ringq

import (
	"unsafe"

	"cmpi/flush"
)

// creditSpan is the distance from the region's start to the first line. The
// credit word has a line of its own (one writer per line), and its neighbour,
// which many CPUs fetch along with it, stays empty.
const creditSpan = 2 * flush.LineSize

// A ring of at least expressMin lines begins with expressLines lines, each
// alone in its pair of lines, for messages of one line. While the consumer
// keeps up, the producer goes back to them after every short lap: lines that
// stay in the first-level caches of both, and whose neighbours nobody fetches
// by accident, go from core to core faster (near caches 55 instead of 70 ns,
// far ones 185 instead of 260).
const (
	expressLines = 64
	expressMin   = 256
)

// LineState is the part of a line ring's end that a caller outside Go may
// advance (the C fast path of the shim): where the next line goes or comes
// from and which word it carries. It lives in the end's Go object, or in
// Config.State.
type LineState struct {
	Lines   unsafe.Pointer // line 0
	Pos     uint64         // number of the next line, counted over the life of the ring
	Start   uint64         // the next line's place in the ring is Pos - Start, Total when the lap is full
	Limit   uint64         // producer: places below it may be written; consumer: lines below this number are credited
	Check   uint64         // producer: a message that would bring Pos beyond it is better left to the engine
	Total   uint64         // places in the ring
	Express uint64         // how many of the first of them are express
	Key     uint64         // upper bits of a line's word
	Seq     uint64         // mask of the running number in the word
	Open    uint64         // bytes of the open message still to move; 0 when none is open
	Far     uint64         // producer: 1 when long runs are better left to the engine (see Distance)
}

// at is the address of a place.
func (s *LineState) at(place uint64) unsafe.Pointer {
	if place < s.Express {
		return unsafe.Add(s.Lines, place*2*flush.LineSize)
	}
	return unsafe.Add(s.Lines, (place+s.Express)*flush.LineSize)
}

// place is where the next line goes.
func (s *LineState) place() uint64 { return s.Pos - s.Start }

func (s *LineState) next() unsafe.Pointer { return s.at(s.place()) }

func (s *LineState) word(pos uint64) uint64 { return s.Key | pos&s.Seq }

// alike is how many lines there are before the running number wraps around: as
// many may be written or read at once.
func (s *LineState) alike() uint64 { return s.Seq + 1 - s.Pos&s.Seq }

// leaveExpress moves on behind the express lines, where the further lines of a
// message go.
func (s *LineState) leaveExpress() {
	if s.place() < s.Express {
		s.Start = s.Pos - s.Express
	}
}

func newLineState(region unsafe.Pointer, c Config) LineState {
	seq := uint64(1)<<c.SeqBits - 1
	return LineState{
		Lines: unsafe.Add(region, creditSpan),
		// Start must not fall below zero when the express lines are jumped over.
		Pos: uint64(c.Lines), Start: uint64(c.Lines), Limit: uint64(c.Lines),
		Total: uint64(c.Lines), Express: c.express(),
		// A zeroed line must never pass for a written one.
		Key: c.Key&^seq | 1<<63,
		Seq: seq,
	}
}

// express is how many express lines the ring has: none where short laps could
// leave a line unused until its word comes round again.
func (c *Config) express() uint64 {
	if c.Lines < expressMin || 1<<c.SeqBits < 4*c.Lines {
		return 0
	}
	return expressLines
}

// share moves a state to where the caller wants it.
func share(own, wanted *LineState) *LineState {
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
	line   *[flush.LineSize]byte // the line being put together
	far    Distance
	own    LineState

	// Numbers of lines.
	lap  uint64 // first of this lap
	prev uint64 // first of the lap before
	full uint64 // first after the last lap that went to the ring's end
	seen uint64 // the consumer has read those below

	coherent bool
	buf      [flush.LineSize]byte
}

func newLineProducer(v *flush.View, region unsafe.Pointer, c Config) *lineProducer {
	p := &lineProducer{v: v, coherent: v.Mode() == flush.Coherent, credit: region, own: newLineState(region, c)}
	p.far.Init(v)
	p.s = share(&p.own, c.State)
	p.s.Far = p.far.Far()
	p.line = &p.buf
	p.lap, p.prev, p.full, p.seen = p.s.Pos, p.s.Pos, p.s.Pos, p.s.Pos
	p.begin(0)
	return p
}

// begin begins a lap at a place.
func (p *lineProducer) begin(place uint64) {
	s := p.s
	if s.place() == s.Total {
		p.full = s.Pos
	}
	p.prev, p.lap = p.lap, s.Pos
	s.Start = s.Pos - place
	s.Check = ^uint64(0)
	if s.Express > 0 {
		s.Check = s.Pos + s.Express
	}
	p.limit()
}

// limit finds out how far may be written. In a lap, a place's number is never
// above the lap's first number plus the place (lines that were jumped over make
// it smaller), hence what has been read of the lap before limits the places of
// this one.
func (p *lineProducer) limit() {
	s := p.s
	switch {
	case p.seen >= p.lap:
		s.Limit = s.Total
	case p.seen > p.prev:
		s.Limit = min(p.seen-p.prev, s.Total)
	default:
		s.Limit = 0
	}
}

// look asks how far the consumer has come. Its word is untrusted: a number that
// is not between what was known and what was written is ignored.
func (p *lineProducer) look() {
	if read := p.v.Load64(p.credit); read-p.seen <= p.s.Pos-p.seen {
		p.seen = read
	}
	p.limit()
}

// room is how many lines may be written, after a look at the consumer's credit
// when fewer than want are known to be free; none at the lap's end.
func (p *lineProducer) room(want uint64) uint64 {
	s := p.s
	if s.Limit < s.Total && s.Limit < s.place()+want {
		p.look()
	}
	return max(s.Limit, s.place()) - s.place()
}

func (p *lineProducer) Begin(h Header, src unsafe.Pointer, n int) (int, bool) {
	s := p.s
	if s.place() == s.Total {
		p.begin(0)
	}
	if p.room(1) == 0 {
		return 0, false
	}
	l := p.line
	a, b := h.words()
	in := min(int(h.Len), Inline)
	var dense uint64
	if p.coherent && n > in && uint64(n) == h.Len {
		dense = p.putDense(unsafe.Add(src, in), n-in)
	}
	s.Open = h.Len - uint64(in)
	if dense > 0 {
		a |= denseFlag
		in, s.Open = n, 0
	}
	short := s.Open == 0 && p.ends(dense)
	if short {
		a |= lapFlag
	}
	*(*uint64)(unsafe.Pointer(&l[0])) = a
	*(*uint64)(unsafe.Pointer(&l[8])) = b
	if in > 0 {
		first := min(in, Inline)
		copy(l[HeaderSize:HeaderSize+first], unsafe.Slice((*byte)(src), first))
	}
	*(*uint64)(unsafe.Pointer(&l[flush.LinePayload])) = s.word(s.Pos)
	p.v.PutLine(s.next(), unsafe.Pointer(l))
	s.Pos++
	if h.Len > Inline {
		s.leaveExpress()
	}
	s.Pos += dense
	if short {
		p.begin(0)
	}
	if s.Open == 0 || n == in {
		p.v.Fence()
		return in, true
	}
	return in + p.More(unsafe.Add(src, in), n-in), true
}

// putDense writes n bytes, the rest of a message, to the lines behind the one
// at Pos, which the caller then writes, and says how many lines that took; 0
// when there is no room for all of them in this lap.
func (p *lineProducer) putDense(src unsafe.Pointer, n int) uint64 {
	s := p.s
	lines := denseLines(n)
	first := max(s.place()+1, s.Express)
	if s.Limit < s.Total && s.Limit < first+lines {
		p.look()
	}
	if s.Limit < first+lines {
		return 0
	}
	v := p.far.Start(n)
	v.CopyIn(s.at(first), src, n)
	if tail := n % flush.LineSize; tail > 0 && tail <= flush.LinePayload {
		// The last line must not keep the word of an earlier lap, which would
		// be a later lap's expected one when the running number has wrapped.
		*(*uint64)(unsafe.Add(s.at(first+lines-1), flush.LinePayload)) = 0
	}
	v.Fence()
	p.far.Stop(v, int(lines))
	s.Far = p.far.Far()
	return lines
}

// denseLines is how many lines n bytes take without flags.
func denseLines(n int) uint64 { return uint64(n+flush.LineSize-1) / flush.LineSize }

// ends decides whether the lap ends with the message at Pos, which has so many
// lines behind its first: when the consumer keeps up, or when another message
// like this one would not fit before the ring's end.
func (p *lineProducer) ends(dense uint64) bool {
	s := p.s
	if s.Express == 0 || s.Pos-p.full > s.Seq/4 {
		// A full lap is due: after it no line is older than half the running
		// numbers, so that none can carry a word that is expected now.
		return false
	}
	place, next := s.place()+1, s.Pos+1+dense
	if dense > 0 {
		if place = max(place, s.Express) + dense; place+1+dense > s.Total {
			return true
		}
	}
	if next < s.Check || dense > s.Express/4 {
		return false
	}
	// The consumer tells every creditLines lines how far it has come.
	near := creditLines + 1 + dense
	if next-p.seen > near {
		p.look()
	}
	if next-p.seen <= near {
		return true
	}
	// Not so soon again: in a stream the ring's whole length is wanted.
	s.Check = next + (next - p.lap)
	return false
}

func (p *lineProducer) More(src unsafe.Pointer, n int) int {
	s := p.s
	if uint64(n) >= s.Open {
		n = int(s.Open)
	} else {
		n -= n % flush.LinePayload
	}
	done := 0
	for done < n {
		if s.place() == s.Total {
			p.begin(s.Express)
		}
		lines := uint64((n - done + flush.LinePayload - 1) / flush.LinePayload)
		free := p.room(min(lines, s.Total/2))
		if free == 0 {
			break
		}
		run := min(int(min(free, s.alike()))*flush.LinePayload, n-done)
		v := p.far.Start(run)
		written := v.PutLines(s.next(), unsafe.Add(src, done), run, s.word(s.Pos))
		v.Fence()
		p.far.Stop(v, written)
		s.Far = p.far.Far()
		s.Pos += uint64(written)
		done += run
	}
	s.Open -= uint64(done)
	return done
}

func (p *lineProducer) Left() int { return int(p.s.Open) }

// creditLines is after how many lines the consumer says how far it has come
// while the producer is in its short laps; beyond, it is a quarter of the ring:
// seldom enough not to take the credit line from the producer at each message,
// often enough that it never runs dry. A lap's end is always told.
const creditLines = expressLines / 2

type lineConsumer struct {
	s      *LineState
	v      *flush.View
	credit unsafe.Pointer
	first  *[flush.LineSize]byte // private copy of the message's first line
	inline int                   // payload bytes in first
	used   int                   // of which read
	dense  uint64                // lines behind the first that hold payload without flags
	rest   int                   // payload bytes in those
	short  bool                  // the lap ends with this message
	own    LineState
	buf    [flush.LineSize]byte
}

func newLineConsumer(v *flush.View, region unsafe.Pointer, c Config) *lineConsumer {
	k := &lineConsumer{v: v, credit: region, own: newLineState(region, c)}
	k.s = share(&k.own, c.State)
	k.first = &k.buf
	return k
}

func (k *lineConsumer) Poll(h *Header) bool {
	s := k.s
	if s.place() == s.Total {
		k.begin(0)
	}
	if !k.v.GetLine(unsafe.Pointer(k.first), s.next(), s.word(s.Pos)) {
		return false
	}
	s.Pos++
	a := *(*uint64)(unsafe.Pointer(&k.first[0]))
	*h = headerOf(a&^(denseFlag|lapFlag), *(*uint64)(unsafe.Pointer(&k.first[8])))
	s.Open = h.Len
	k.inline = min(int(h.Len), Inline)
	k.used, k.dense, k.short = 0, 0, a&lapFlag != 0
	if h.Len <= Inline {
		return true
	}
	s.leaveExpress()
	if a&denseFlag != 0 {
		k.rest = int(h.Len) - Inline
		k.dense = denseLines(k.rest)
		if k.dense > s.Total-s.place() {
			k.dense = 0 // no lap holds that: never completed, like any message that is not sent
		}
	}
	return true
}

// begin begins a lap at a place.
func (k *lineConsumer) begin(place uint64) {
	k.s.Start = k.s.Pos - place
	k.publish()
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
		return got + k.readDense(unsafe.Add(dst, got), n-got)
	}
	if n -= got; uint64(n) < s.Open {
		n -= n % flush.LinePayload
	}
	for n += got; got < n; {
		if s.place() == s.Total {
			k.begin(s.Express)
		}
		run := min(int(min(s.Total-s.place(), s.alike()))*flush.LinePayload, n-got)
		c := k.v.GetLines(unsafe.Add(dst, got), s.next(), run, s.word(s.Pos))
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

// readDense copies the next n bytes of a dense message's lines to dst.
func (k *lineConsumer) readDense(dst unsafe.Pointer, n int) int {
	s := k.s
	if n > 0 {
		k.v.CopyOut(dst, unsafe.Add(s.next(), k.rest-int(s.Open)), n)
		s.Open -= uint64(n)
	}
	return n
}

// giveCredit publishes how far the ring has been consumed, in batches.
func (k *lineConsumer) giveCredit() {
	s := k.s
	batch := s.Total / 4
	if s.Express > 0 && s.place() <= 4*s.Express {
		batch = creditLines
	}
	if s.Pos-s.Limit >= batch {
		k.publish()
	}
}

func (k *lineConsumer) publish() {
	k.v.Store64(k.credit, k.s.Pos)
	k.s.Limit = k.s.Pos
}

func (k *lineConsumer) Left() int { return int(k.s.Open) }

func (k *lineConsumer) End() {
	k.s.Pos += k.dense
	k.dense = 0
	if k.short {
		k.short = false
		k.begin(0)
		return
	}
	k.giveCredit()
}
