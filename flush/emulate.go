package flush

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// emulator is the cache of one simulated host. At the start it holds every line
// of the shared memory, clean and zero: the oldest copy there can be, so that a
// protocol that forgets its first invalidation fails.
//
// Callers load and store the private cache directly. The emulator finds their
// stores by comparing with clean, the cache as it last agreed with memory.
// A line's content travels as follows:
//
//	cache ──WriteBack, PutLine, CopyIn──▶ queue ──Fence or adversary──▶ shared
//	cache ◀──────Invalidate, Load64, CopyOut, GetLine's miss────────── shared
//
// always 64 bytes at once. All lines are named by their offset.
type emulator struct {
	seed  uint64
	chaos int

	shared, cache, clean unsafe.Pointer // immutable
	size                 uintptr        // immutable, multiple of LineSize
	private              [2][]byte      // the mappings behind cache and clean

	mu     sync.Mutex
	rng    *rand.Rand
	queue  []pending // written back or streamed, not yet in memory; oldest first
	recent [recentLines]uintptr
	next   int // where in recent the next touched line goes
}

// pending is a line on its way to memory.
type pending struct {
	off   uintptr
	words int // how many of the line's words are on their way: 8, or a prefix
	data  [lineWords]uint64
	bytes uint64 // if not 0: only the bytes whose bits are set are on their way
}

const (
	lineWords = LineSize / 8
	// recentLines is how many touched lines the adversary remembers: more than
	// a message of the protocols under test touches, few enough that an act
	// probably hits a line that matters.
	recentLines = 64
	// maxActs bounds the adversarial acts at one primitive (Chaos can be 100).
	maxActs = 4
	// queueLimit bounds the queue as write-combining buffers and store queues
	// are bounded: beyond it, somebody has to go first.
	queueLimit = 256
)

// newEmulator reserves the private memory, sparsely: only touched pages count.
func newEmulator(shared []byte, o Options) (*emulator, error) {
	e := &emulator{
		seed:   o.Seed,
		chaos:  o.Chaos,
		shared: unsafe.Pointer(unsafe.SliceData(shared)),
		size:   uintptr(len(shared)),
	}
	for e.seed == 0 {
		e.seed = rand.Uint64()
	}
	if e.chaos < 0 {
		e.chaos = DefaultChaos
	}
	e.chaos = min(e.chaos, 100)
	e.rng = rand.New(rand.NewPCG(e.seed, 0))
	for i := range e.private {
		m, err := unix.Mmap(-1, 0, len(shared), unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("reserving %d bytes for the emulated cache: %w", len(shared), err), e.close())
		}
		e.private[i] = m
	}
	e.cache = unsafe.Pointer(unsafe.SliceData(e.private[0]))
	e.clean = unsafe.Pointer(unsafe.SliceData(e.private[1]))
	emulators.Add(1)
	return e, nil
}

func (e *emulator) base() unsafe.Pointer { return e.cache }

func (e *emulator) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	if e.cache != nil && e.private[0] != nil {
		emulators.Add(-1)
	}
	for i, m := range e.private {
		if m != nil {
			errs = append(errs, unix.Munmap(m))
			e.private[i] = nil
		}
	}
	e.queue = nil
	return errors.Join(errs...)
}

// offset returns where p lies in the pool. An n-byte access outside of it is a
// bug of the caller that the real modes would turn into a fault or worse.
func (e *emulator) offset(p unsafe.Pointer, n int) uintptr {
	off := uintptr(p) - uintptr(e.cache)
	if off >= e.size || uintptr(n) > e.size-off {
		panic(fmt.Sprintf("flush: [%p, +%d) is outside the View's [%p, +%d)", p, n, e.cache, e.size))
	}
	return off
}

// linesOf calls f for every line that the n bytes at off touch.
func linesOf(off uintptr, n int, f func(line uintptr)) {
	end := off + uintptr(n)
	for line := off &^ (LineSize - 1); line < end; line += LineSize {
		f(line)
	}
}

// putLine models a whole-line store, or its permitted weaker form, ordinary
// stores of which a prefix leaves early.
func (e *emulator) putLine(dst, src unsafe.Pointer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.publish(e.offset(dst, LineSize), readPrivate(src, LineSize))
}

func (e *emulator) putLines(dst, src unsafe.Pointer, n int, word uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := 0; i < n; i += LinePayload {
		line := readPrivate(unsafe.Add(src, i), min(LinePayload, n-i))
		line[lineWords-1] = word
		e.publish(e.offset(dst, LineSize), line)
		dst, word = unsafe.Add(dst, LineSize), word+1
	}
}

// publish puts a whole new line on its way, and in the cache.
func (e *emulator) publish(line uintptr, data [lineWords]uint64) {
	e.disturb(line)
	if e.chance() {
		e.enqueue(line, data, 1+e.rng.IntN(lineWords-1))
	}
	storeLine(e.cache, line, &data)
	storeLine(e.clean, line, &data)
	e.enqueue(line, data, lineWords)
	e.disturb(line)
}

func (e *emulator) getLine(dst, src unsafe.Pointer, want uint64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	data, ok := e.look(e.offset(src, LineSize), want)
	if ok {
		writePrivate(dst, &data, LineSize)
	}
	return ok
}

func (e *emulator) getLines(dst, src unsafe.Pointer, n int, word uint64) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	got := 0
	for got < n {
		data, ok := e.look(e.offset(src, LineSize), word)
		if !ok {
			break
		}
		m := min(LinePayload, n-got)
		writePrivate(unsafe.Add(dst, got), &data, m)
		got += m
		src, word = unsafe.Add(src, LineSize), word+1
	}
	return got
}

// look returns the cached line if its word is want, and invalidates it if not.
func (e *emulator) look(line uintptr, want uint64) (data [lineWords]uint64, ok bool) {
	e.disturb(line)
	data = loadLine(e.cache, line)
	if data[lineWords-1] == want {
		return data, true
	}
	e.refetch(line)
	return data, false
}

func (e *emulator) load64(p unsafe.Pointer) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	off := e.offset(p, 8)
	line := off &^ (LineSize - 1)
	e.disturb(line)
	e.refetch(line)
	return loadRaw(word(e.cache, off))
}

func (e *emulator) store64(p unsafe.Pointer, x uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	off := e.offset(p, 8)
	line := off &^ (LineSize - 1)
	e.disturb(line)
	e.drain()
	storeRaw(word(e.cache, off), x)
	e.writeBackLine(line)
	e.drain()
}

func (e *emulator) writeBack(p unsafe.Pointer, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	linesOf(e.offset(p, n), n, func(line uintptr) {
		e.disturb(line)
		e.writeBackLine(line)
	})
	e.disturb(e.offset(p, n) &^ (LineSize - 1))
}

// writeBackLine enqueues the line's content. It does so even if the cache
// agrees with clean: a store of the value that is there already makes a line
// dirty too, and a caller writes back only what it stored to.
func (e *emulator) writeBackLine(line uintptr) {
	data := loadLine(e.cache, line)
	storeLine(e.clean, line, &data)
	e.enqueue(line, data, lineWords)
}

func (e *emulator) invalidate(p unsafe.Pointer, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.invalidateRange(e.offset(p, n), n)
}

func (e *emulator) invalidateRange(off uintptr, n int) {
	linesOf(off, n, func(line uintptr) {
		e.disturb(line)
		e.refetch(line)
	})
}

// copyIn streams whole lines; the partial ones at both ends are stored to the
// cache and written back, with whatever the cache has in the rest of the line.
func (e *emulator) copyIn(dst, src unsafe.Pointer, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	off := e.offset(dst, n)
	end := off + uintptr(n)
	for off < end {
		line := off &^ (LineSize - 1)
		m := min(line+LineSize, end) - off
		if m == LineSize {
			e.publish(line, readPrivate(src, LineSize))
		} else {
			e.disturb(line)
			storeBytes(unsafe.Add(e.cache, off), src, int(m))
			e.writeBackLine(line)
		}
		if off += m; off < end {
			src = unsafe.Add(src, m)
		}
	}
	e.disturb((end - 1) &^ (LineSize - 1))
}

// copyExact models streaming stores of some bytes of a line: a line that this
// host has stored to is evicted first; the bytes then travel without the others.
func (e *emulator) copyExact(dst, src unsafe.Pointer, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	off := e.offset(dst, n)
	end := off + uintptr(n)
	for off < end {
		line := off &^ (LineSize - 1)
		m := min(line+LineSize, end) - off
		e.disturb(line)
		e.landLine(line)
		e.evict(line)
		storeBytes(unsafe.Add(e.cache, off), src, int(m))
		storeBytes(unsafe.Add(e.clean, off), src, int(m))
		e.enqueue(line, loadLine(e.clean, line), lineWords)
		e.queue[len(e.queue)-1].bytes = (1<<m - 1) << (off - line)
		if off += m; off < end {
			src = unsafe.Add(src, m)
		}
	}
	e.disturb((end - 1) &^ (LineSize - 1))
}

func (e *emulator) copyOut(dst, src unsafe.Pointer, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	off := e.offset(src, n)
	e.invalidateRange(off, n)
	loadBytes(dst, unsafe.Add(e.cache, off), n)
}

func (e *emulator) fence() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.disturb(e.recent[e.rng.IntN(recentLines)])
	e.drain()
}

// enqueue appends to the queue, which the adversary or a fence empties.
func (e *emulator) enqueue(line uintptr, data [lineWords]uint64, words int) {
	if len(e.queue) >= queueLimit {
		e.land(e.pick())
	}
	e.queue = append(e.queue, pending{off: line, words: words, data: data})
}

// drain lands the whole queue, in random order unless Chaos is 0.
func (e *emulator) drain() {
	for len(e.queue) > 0 {
		e.land(e.pick())
	}
}

// pick chooses an entry of the queue.
func (e *emulator) pick() int {
	if e.chaos == 0 {
		return 0
	}
	return e.rng.IntN(len(e.queue))
}

// land moves entry i to memory, or rather the oldest entry for the same line:
// one core's writes to one line never overtake each other.
func (e *emulator) land(i int) {
	for j := range i {
		if e.queue[j].off == e.queue[i].off {
			i = j
			break
		}
	}
	p := e.queue[i]
	e.queue = append(e.queue[:i], e.queue[i+1:]...)
	e.deliver(&p)
}

// deliver writes p to memory.
func (e *emulator) deliver(p *pending) {
	if p.bytes != 0 {
		writeSharedBytes(e.shared, p.off, &p.data, p.bytes)
		return
	}
	writeShared(e.shared, p.off, &p.data, p.words)
}

// landLine lands what is queued for one line, in order.
func (e *emulator) landLine(line uintptr) {
	rest := e.queue[:0]
	for _, p := range e.queue {
		if p.off == line {
			e.deliver(&p)
		} else {
			rest = append(rest, p)
		}
	}
	e.queue = rest
}

// refetch drops a line and loads it again. What this host wrote to it reaches
// memory first: queued write-backs, then the dirty line itself.
func (e *emulator) refetch(line uintptr) {
	e.landLine(line)
	e.evict(line)
	e.fetch(line)
}

// evict writes the line to memory if it is dirty; it stays cached, clean.
func (e *emulator) evict(line uintptr) {
	data := loadLine(e.cache, line)
	if data != loadLine(e.clean, line) {
		writeShared(e.shared, line, &data, lineWords)
		storeLine(e.clean, line, &data)
	}
}

// fetch replaces the clean words of a line by those in memory, the flag word
// last. A word that the caller stores to meanwhile is left to the caller.
func (e *emulator) fetch(line uintptr) {
	data := readShared(e.shared, line)
	for i, fresh := range data {
		at := line + uintptr(i)*8
		old := loadRaw(word(e.clean, at))
		if fresh != old && casRaw((*uint64)(word(e.cache, at)), old, fresh) {
			storeRaw(word(e.clean, at), fresh)
		}
	}
}
