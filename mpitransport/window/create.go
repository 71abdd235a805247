package window

import (
	"errors"
	"sync"
	"time"
	"unsafe"

	"cmpi/arena"
	"cmpi/flush"
)

// Window is one member's end of a window. Unless Config.Threaded, one thread at
// a time may use it.
type Window struct {
	cfg      Config
	v        *flush.View
	obj      *arena.Object
	base     unsafe.Pointer // of the object
	lay      *layout
	n, rank  int
	domain   int
	coherent bool // one domain: plain loads and stores and CPU atomics
	exact    bool // pieces of lines are written by stores that change nothing else
	words    bool // a fast path outside may do so, too
	fast     []FastTarget
	patience time.Duration // LostAfter; less in tests

	mu      sync.Mutex // with Config.Threaded: all below
	known   bool       // pending is kept: one thread, and no fast path beside it
	pending bool       // stores since the last fence that others must see
	epochs
	fenceSeq uint64
	pscw     pscw
	scratch  scratch
}

// joinedWord says that a member has opened the window.
const joinedWord = 0x64656e696f4a

func create(c Config) (*Window, Class) {
	if c.Barrier == nil || c.Arena == nil {
		return nil, ErrArg
	}
	lay, ok := newLayout(&c)
	if !ok {
		return nil, ErrArg
	}
	w := &Window{cfg: c, v: c.Arena.View(), lay: lay, n: len(c.Members), rank: c.Rank, domain: lay.domain[c.Rank]}
	w.coherent = lay.domains == 1
	w.exact = !c.LineWrites && w.v.Exact()
	w.init()
	// Two barriers whatever happens, so that all members come to the same end.
	header := lay.header(&c)
	if w.rank == 0 {
		w.obj = makeObject(&c, lay.total)
		if w.obj != nil {
			w.base = w.obj.Addr()
			w.v.PutLine(w.base, unsafe.Pointer(&header))
			w.v.Fence()
		}
	}
	if c.Barrier() != nil {
		w.discard()
		return nil, ErrOther
	}
	if w.rank != 0 {
		w.openObject(&header)
	}
	if w.obj != nil {
		if c.Segments != nil {
			w.dropDirect(w.rank) // what the program has stored there before
			w.v.Fence()
		}
		w.v.Store64(w.at(lay.rankLine(w.rank)+joinedAt), joinedWord)
	}
	if c.Barrier() != nil {
		w.discard()
		return nil, ErrOther
	}
	if !w.allJoined() {
		w.discard()
		return nil, ErrNoMem
	}
	w.openFast()
	return w, OK
}

// makeObject makes the window's object; nil if there is no room. One of that
// name is what a dead job left.
func makeObject(c *Config, size int64) *arena.Object {
	for range 2 {
		o, err := c.Arena.Create(c.Name, size)
		if err == nil {
			return o
		}
		if errors.Is(err, arena.ErrExists) {
			err = c.Arena.Destroy(c.Name)
		}
		if err != nil {
			if !errors.Is(err, arena.ErrPoolFull) {
				c.fault(err)
			}
			break
		}
	}
	return nil
}

func (c *Config) fault(err error) {
	if c.Fault != nil && err != nil {
		c.Fault(err)
	}
}

// openObject opens what rank 0 has made, if it is what all agreed on.
func (w *Window) openObject(header *[line]byte) {
	o, err := w.cfg.Arena.OpenObject(w.cfg.Name)
	if err != nil {
		return
	}
	if o.Size() != w.lay.total {
		_ = o.Close()
		return
	}
	var l [line]byte
	for range 2 { // the first look may be at a stale line
		if w.v.GetLine(unsafe.Pointer(&l), o.Addr(), magic) {
			break
		}
	}
	if l != *header {
		_ = o.Close()
		return
	}
	w.obj, w.base = o, o.Addr()
}

// allJoined reports whether every member has the window open. Whoever has it not
// finds that out by itself.
func (w *Window) allJoined() bool {
	if w.obj == nil {
		return false
	}
	for r := range w.n {
		if w.v.Load64(w.at(w.lay.rankLine(r)+joinedAt)) != joinedWord {
			return false
		}
	}
	return true
}

// discard gives up a window that did not come to be.
func (w *Window) discard() {
	if w.obj == nil {
		return
	}
	if w.rank == 0 {
		_ = w.obj.Destroy()
		return
	}
	_ = w.obj.Close()
}

func (w *Window) init() {
	w.patience = LostAfter
	w.words = !w.coherent && w.exact && w.v.Mode() == flush.Flush
	w.known = !w.cfg.Threaded && (w.cfg.Fast == nil || !w.coherent && !w.words)
	w.fast = w.cfg.Fast
	if w.fast == nil {
		w.fast = make([]FastTarget, w.n)
	}
	w.held = make([]held, w.n)
	w.pscw.init(w.n)
}

func (w *Window) openFast() {
	for r := range w.fast {
		m := &w.cfg.Members[r]
		w.fast[r] = FastTarget{Base: uintptr(w.segment(r)), Size: m.Size, DispUnit: int64(m.DispUnit)}
	}
}

// free is collective. The second barrier keeps rank 0 from giving the memory
// away while another member writes its lines back.
func (w *Window) free() Class {
	w.lock()
	busy := w.locks > 0 || w.pscw.access || w.pscw.exposed
	w.unlock()
	if busy {
		return ErrSync
	}
	w.settle()
	w.dropDirect(w.rank)
	w.cfg.fault(w.obj.Close())
	if w.cfg.Barrier() != nil {
		return ErrOther
	}
	if w.cfg.Segments != nil {
		w.dropDirect(w.rank) // others were still writing to memory that stays the program's
	}
	for r := range w.fast {
		w.fast[r] = FastTarget{}
	}
	if w.rank == 0 {
		// What can't be given back now is given back by the next job's start.
		w.cfg.fault(w.obj.Destroy())
	}
	return OK
}

// lock guards the window's own state where several threads use it.
func (w *Window) lock() {
	if w.cfg.Threaded {
		w.mu.Lock()
	}
}

func (w *Window) unlock() {
	if w.cfg.Threaded {
		w.mu.Unlock()
	}
}
