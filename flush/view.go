package flush

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"
)

const (
	// LineSize is the unit in which caches and memory exchange data, in bytes.
	// It is 64 on every x86 and on the arm64 servers that have a CXL port.
	LineSize = 64
	// LinePayload is what a flagged line carries: a line less its flag word.
	LinePayload = LineSize - 8
	// wordOffset is where the flag word of a line stands. The word is the
	// last one of the line so that program order, the order of a streaming
	// store's halves and the order of an early eviction all agree: the payload
	// precedes it.
	wordOffset = LinePayload
)

// Mode says what it takes to make a write of this process visible to a reader.
type Mode uint8

const (
	// Coherent is for memory that the hardware keeps coherent: one running
	// kernel, or CXL 3 with back-invalidation. Stores and loads suffice.
	Coherent Mode = iota
	// Flush is for a cached mapping shared by hosts that do not snoop each
	// other: writes are written back or streamed, reads follow an invalidation.
	Flush
	// Uncached is for a mapping of type uncacheable or write-combining.
	Uncached
	// Emulate is Flush in front of a simulated cache: ordinary private memory
	// from which only the primitives, and a seeded adversary, move lines.
	Emulate
)

var modeNames = [...]string{Coherent: "coherent", Flush: "flush", Uncached: "uncached", Emulate: "emulate"}

// String returns the name that ParseMode accepts.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("flush.Mode(%d)", uint8(m))
}

// Errors of ParseMode and NewView; wrapped with the offending value.
var (
	// ErrMode means a mode that does not exist.
	ErrMode = errors.New("unknown coherence mode")
	// ErrShared means that the shared memory is empty, or neither starts nor
	// ends at a line boundary.
	ErrShared = errors.New("shared memory is not a whole number of aligned cache lines")
	// ErrNoCacheControl means that Flush was asked for in a build that has no
	// cache instructions; see Options.AllowNoCacheControl.
	ErrNoCacheControl = errors.New("this build has no cache instructions")
)

// ParseMode returns the mode called s. What "auto" means is decided by callers.
func ParseMode(s string) (Mode, error) {
	for m, name := range modeNames {
		if s == name {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("%w: %q", ErrMode, s)
}

// Options tune a View. The zero value is right for Coherent, Flush and Uncached.
type Options struct {
	// NoVector forbids vector registers and MOVDIR64B on shared memory: only
	// 8-byte general registers touch it. Some emulated devices fault on more.
	NoVector bool
	// CachedLines publishes lines in Flush by ordinary stores and a write-back
	// even where the CPU has a whole-line store that passes by the cache.
	CachedLines bool
	// Seed drives the adversary of Emulate; 0 draws one (see View.Seed).
	Seed uint64
	// Chaos is the chance in percent, 0..100, of an adversarial act at each
	// primitive of Emulate. Negative means DefaultChaos.
	Chaos int
	// AllowNoCacheControl accepts Flush where the build has no cache
	// instructions (tag purego, or an architecture without an assembly file).
	// Such a View is right inside one coherence domain only: it is for tests.
	AllowNoCacheControl bool
}

// DefaultChaos is the adversary's strength, in percent, when Options.Chaos is
// negative: often enough that a test of some hundred primitives meets every
// kind of act, rarely enough that most lines still take the ordinary way.
const DefaultChaos = 10

// View is one process's way into the shared memory: the mapping together with
// the cache in front of it. A process has one View; a test has one per
// simulated host. All methods but Close may be called from several goroutines
// as far as the rule of one writer per line allows.
type View struct {
	base   unsafe.Pointer // immutable: where offset 0 is loaded and stored
	plan   plan           // immutable
	emu    *emulator      // immutable, nil unless Emulate
	shared []byte         // immutable: keeps the mapping reachable, gives Size
	mode   Mode           // immutable
	counts *Counts        // nil unless Count was called
}

// NewView returns a View of shared, which must be a mapping that outlives it.
// In Emulate it reserves (without touching) twice the size of private memory.
func NewView(shared []byte, mode Mode, o Options) (*View, error) {
	if int(mode) >= len(modeNames) {
		return nil, fmt.Errorf("%w: %v", ErrMode, mode)
	}
	base := unsafe.Pointer(unsafe.SliceData(shared))
	if len(shared) == 0 || len(shared)%LineSize != 0 || uintptr(base)%LineSize != 0 {
		return nil, fmt.Errorf("%w: %d bytes at %p", ErrShared, len(shared), base)
	}
	if mode == Flush && caps.WriteBack == "" && !o.AllowNoCacheControl {
		return nil, ErrNoCacheControl
	}
	v := &View{base: base, plan: planFor(mode, o), shared: shared, mode: mode}
	if mode == Emulate {
		e, err := newEmulator(shared, o)
		if err != nil {
			return nil, err
		}
		v.emu, v.base = e, e.base()
	}
	return v, nil
}

// Close frees what NewView allocated. The shared memory stays mapped. Lines
// still dirty or queued in Emulate are lost, as they are when a host dies.
func (v *View) Close() error {
	if v.emu == nil {
		return nil
	}
	return v.emu.close()
}

// Mode returns the mode of the View.
func (v *View) Mode() Mode { return v.mode }

// Seed returns the seed of the adversary in Emulate, 0 in other modes.
func (v *View) Seed() uint64 {
	if v.emu == nil {
		return 0
	}
	return v.emu.seed
}

// Size returns the size of the shared memory in bytes.
func (v *View) Size() int { return len(v.shared) }

// Base returns the address of offset 0 as this process loads and stores it. In
// Emulate that is the private memory that plays the cache.
func (v *View) Base() unsafe.Pointer { return v.base }

// PutLine publishes the line at src (64 private bytes, any alignment) in the
// aligned shared line at dst: 56 bytes of payload and the word at offset 56,
// which never becomes visible before the payload does. Other lines are ordered
// against this one by Fence alone, and in Coherent by program order.
func (v *View) PutLine(dst, src unsafe.Pointer) {
	raceRelease(v, dst)
	v.published(1)
	if v.emu != nil {
		v.emu.putLine(dst, src)
		return
	}
	putLine(v.plan.publish, dst, src)
	if v.plan.linesNeedWriteBack {
		cacheLines(v.plan.writeBack, dst, 1)
	}
}

// GetLine reports whether the word of the aligned shared line at src is want,
// and if it is copies the line, word first, to the 64 private bytes at dst. If
// it is not, the line is invalidated so that the next look is a fresh one and
// dst is left alone. A stale line is harmless: its word is another one.
func (v *View) GetLine(dst, src unsafe.Pointer, want uint64) bool {
	if v.emu != nil {
		if !v.emu.getLine(dst, src, want) {
			v.invalidated(1)
			return false
		}
	} else if !getLine(v.plan.look, dst, src, want) {
		if v.plan.invalidate != cacheNone {
			v.invalidated(1)
			invalidateLines(v.plan.invalidate, src, 1)
		}
		return false
	}
	raceAcquire(v, src)
	return true
}

// PutLines publishes n private bytes at src in the ceil(n/56) consecutive
// shared lines that begin at dst, with words word, word+1 and so on, and
// returns the number of lines. Each line is published as PutLine does it; the
// rest of the last line's payload is unspecified.
func (v *View) PutLines(dst, src unsafe.Pointer, n int, word uint64) int {
	if n <= 0 {
		return 0
	}
	lines := (n + LinePayload - 1) / LinePayload
	for i := range raceLines(lines) {
		raceRelease(v, unsafe.Add(dst, i*LineSize))
	}
	v.published(lines)
	if v.emu != nil {
		v.emu.putLines(dst, src, n, word)
		return lines
	}
	whole := n / LinePayload
	if whole > 0 {
		putLines(v.plan.publish, dst, src, whole, word)
	}
	if whole < lines {
		var last [LineSize]byte
		copy(last[:LinePayload], unsafe.Slice((*byte)(unsafe.Add(src, whole*LinePayload)), n-whole*LinePayload))
		*(*uint64)(unsafe.Pointer(&last[wordOffset])) = word + uint64(whole)
		putLine(v.plan.publish, unsafe.Add(dst, whole*LineSize), unsafe.Pointer(&last))
	}
	if v.plan.linesNeedWriteBack {
		cacheLines(v.plan.writeBack, dst, lines)
	}
	return lines
}

// GetLines copies up to n bytes of payload of the consecutive shared lines at
// src to private dst for as long as their words are word, word+1 and so on. It
// returns the number of bytes copied: n, or 56 times the lines that matched.
// The first line that does not match is invalidated so that the next look at
// it is fresh.
func (v *View) GetLines(dst, src unsafe.Pointer, n int, word uint64) int {
	if n <= 0 {
		return 0
	}
	if v.emu != nil {
		got := v.emu.getLines(dst, src, n, word)
		if got < n {
			v.invalidated(1)
		}
		v.acquireLines(src, got)
		return got
	}
	whole := n / LinePayload
	lines := 0
	if whole > 0 {
		lines = getLines(v.plan.look, dst, src, whole, word)
	}
	got := lines * LinePayload
	if lines == whole && got < n {
		var last [LineSize]byte
		if getLine(v.plan.look, unsafe.Pointer(&last), unsafe.Add(src, lines*LineSize), word+uint64(lines)) {
			copy(unsafe.Slice((*byte)(unsafe.Add(dst, got)), n-got), last[:])
			got = n
		}
	}
	if got < n && v.plan.invalidate != cacheNone {
		v.invalidated(1)
		invalidateLines(v.plan.invalidate, unsafe.Add(src, lines*LineSize), 1)
	}
	v.acquireLines(src, got)
	return got
}

// acquireLines tells the race detector that n bytes of payload were taken over.
func (v *View) acquireLines(src unsafe.Pointer, n int) {
	for i := range raceLines((n + LinePayload - 1) / LinePayload) {
		raceAcquire(v, unsafe.Add(src, i*LineSize))
	}
}

// Load64 takes a fresh look at the aligned word at p, which another process
// writes. Loads that follow it in program order are not older than it (acquire),
// but lines other than p's may still come from the cache.
func (v *View) Load64(p unsafe.Pointer) uint64 {
	if v.emu != nil {
		v.invalidated(1)
		x := v.emu.load64(p)
		raceAcquire(v, p)
		return x
	}
	if v.plan.invalidate != cacheNone {
		v.invalidated(1)
		invalidateLines(v.plan.invalidate, lineOf(p), 1)
	}
	return v.Peek64(p)
}

// Peek64 loads the aligned word at p as the cache has it, perhaps stale, with
// acquire order. It is for words that another Peek64 will soon look at again,
// after a GetLine or Invalidate of the line.
func (v *View) Peek64(p unsafe.Pointer) uint64 {
	x := atomic.LoadUint64((*uint64)(p))
	if v.plan.loadFence {
		loadFence()
	}
	raceAcquire(v, p)
	return x
}

// Store64 stores x in the aligned word at p with release order: whatever this
// View wrote, wrote back or streamed before is visible before it, and it is
// visible to a fresh look of others when Store64 returns. (In Coherent it is
// a plain release store, visible soon.) The caller must be the only writer of
// the line: all of it is written back.
func (v *View) Store64(p unsafe.Pointer, x uint64) {
	raceRelease(v, p)
	v.published(1)
	if v.emu != nil {
		v.emu.store64(p, x)
		return
	}
	if v.plan.storeFence {
		storeFence() // earlier streaming stores and write-backs are ordered by nothing else
	}
	store64(p, x)
	if v.plan.writeBack != cacheNone {
		cacheLines(v.plan.writeBack, lineOf(p), 1)
	}
	if v.plan.storeFence {
		storeFence()
	}
}

// WriteBack makes the lines that [p, p+n) touches, to which this process has
// stored, reach the memory. It is ordered against later writes by Fence.
func (v *View) WriteBack(p unsafe.Pointer, n int) {
	if n <= 0 {
		return
	}
	if v.emu != nil {
		v.published(linesIn(p, n))
		v.emu.writeBack(p, n)
		return
	}
	if v.plan.writeBack != cacheNone {
		v.published(linesIn(p, n))
		cacheLines(v.plan.writeBack, lineOf(p), linesIn(p, n))
	}
}

// Invalidate drops the lines that [p, p+n) touches from the cache, so that
// later loads are fresh; it includes the fences on both sides. A dirty line is
// written back first, as the hardware does. No-op in Coherent and Uncached.
func (v *View) Invalidate(p unsafe.Pointer, n int) {
	if n <= 0 {
		return
	}
	v.invalidated(linesIn(p, n))
	if v.emu != nil {
		v.emu.invalidate(p, n)
		return
	}
	if v.plan.invalidate != cacheNone {
		invalidateLines(v.plan.invalidate, lineOf(p), linesIn(p, n))
	}
}

// Fence orders the writes of this View: all that were issued above it are
// visible to any fresh look of another process that sees something written
// below it. In Coherent stores are ordered anyway and Fence does nothing.
// It does not order stores against later loads: see FullFence.
func (v *View) Fence() {
	if v.emu != nil {
		v.emu.fence()
		return
	}
	if v.plan.storeFence {
		storeFence()
	}
}

// FullFence is Fence, and in addition no load below it is done before the
// writes above it are visible. Mutual exclusion by flags (store mine, then look
// at theirs) needs it in every mode, Coherent included.
func (v *View) FullFence() {
	if v.emu != nil {
		v.emu.fence()
	}
	fullFence()
}

// Pause gives the CPU the hint that the caller spins on a line.
func Pause() { pause() }

// lineOf returns the address of the line that p lies in.
func lineOf(p unsafe.Pointer) unsafe.Pointer {
	return unsafe.Add(p, -int(uintptr(p)%LineSize))
}

// linesIn returns how many lines [p, p+n) touches, for n > 0.
func linesIn(p unsafe.Pointer, n int) int {
	return (int(uintptr(p)%LineSize) + n + LineSize - 1) / LineSize
}
