package mpitransport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"cmpi/arena"
	"cmpi/ringq"
)

// hostile is a one-rank job whose rank has a ring to itself, so that a test
// can play a peer that writes what it likes.
func hostile(t testing.TB) (*Endpoint, *Comm, *peer) {
	t.Helper()
	a, err := arena.Open(arena.Config{Path: shmDir(t) + "/pool", Size: 4 << 20, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	e, err := New(Config{Size: 1, Arena: a, Job: "hostile"})
	if err != nil {
		t.Fatal(err)
	}
	w := e.NewComm(1, 0, []int32{0}, nil)
	p := &e.peers[0]
	if cl := e.openRing(p); cl != OK {
		t.Fatal(cl)
	}
	if !e.readBoard(p) {
		t.Fatal("own ring not found")
	}
	return e, w, p
}

// FuzzPeer feeds the engine messages and announcements of any content. It
// must neither crash nor touch anything outside the pool and the receive
// buffers, and must stay usable.
func FuzzPeer(f *testing.F) {
	Warn = func(string) {}
	add := func(kind msgKind, ctx uint64, tag uint32, words ...uint64) {
		b := []byte{byte(kind), byte(ctx), byte(tag), byte(8 * len(words))}
		for _, w := range words {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		f.Add(b)
	}
	add(msgEager, 1, 3, 1, 2)
	add(msgEagerSync, 1, 3, 0, 5)
	add(msgAck, 1, 0, 1)
	add(msgRescue, 1, 0, 64)
	add(msgStaged, 1, 3, 1000, 0, 1000, 1)
	add(msgStaged, 1, 3, 1000, 1<<20, 1024, 1|rtsSync)
	add(msgSingle, 1, 3, 1000, 1<<20, 4096, 0)
	add(msgSingle, 2, 3, 1<<46, 1<<20, 0, 0)
	add(200, 0, 0)
	f.Fuzz(func(t *testing.T, b []byte) {
		e, w, p := hostile(t)
		guard := make([]byte, 3*256)
		var posted []*Request
		for _, tag := range []int32{3, AnyTag} {
			r, cl := e.Irecv(w, ptr(guard[256:]), 256, byteType, AnySource, tag)
			if cl != OK {
				t.Fatal(cl)
			}
			posted = append(posted, r)
		}
		for len(b) >= 4 {
			h := ringq.Header{Kind: b[0] & 127, Ctx: uint64(b[1]), Tag: uint32(b[2]), Len: uint64(b[3])}
			n := min(len(b)-4, int(b[3]))
			data := make([]byte, b[3])
			copy(data, b[4:4+n])
			b = b[4+n:]
			if len(data) == rtsLen && h.Kind == uint8(msgStaged) {
				// Now and then an offset that is inside the pool.
				off := binary.LittleEndian.Uint64(data[8:])
				binary.LittleEndian.PutUint64(data[8:], e.pool.lo+off%(e.pool.hi-e.pool.lo)&^63)
			}
			if p.out.Left() > 0 {
				break
			}
			p.out.Begin(h, ptr(data), len(data))
			for range 3 {
				e.Progress()
			}
		}
		for range 100 {
			e.Progress()
		}
		for i := range 256 {
			if guard[i] != 0 || guard[512+i] != 0 {
				t.Fatal("written outside the receive buffer")
			}
		}
		for _, r := range posted {
			e.Cancel(r)
		}
	})
}

// TestBrokenPeer: receives from a peer that writes nonsense fail, those posted
// before and those posted after.
func TestBrokenPeer(t *testing.T) {
	var said []string
	Warn = func(l string) { said = append(said, l) }
	e, w, p := hostile(t)
	before, _ := e.Irecv(w, nil, 0, byteType, 0, 1)
	p.out.Begin(ringq.Header{Kind: 99}, nil, 0)
	e.Wait(before)
	after, _ := e.Irecv(w, nil, 0, byteType, 0, 1)
	e.Wait(after)
	for _, r := range []*Request{before, after} {
		if r.Status().Err != ErrInternal {
			t.Errorf("status %+v, want %v", r.Status(), ErrInternal)
		}
	}
	if len(said) != 1 {
		t.Errorf("said %q, want one line", said)
	}
}

// TestHostileBoard: links that lead nowhere, in circles or outside the pool
// end the search.
func TestHostileBoard(t *testing.T) {
	Warn = func(string) {}
	for _, off := range []uint64{1, 64, 1 << 40, ^uint64(0), 0} {
		e, _, _ := hostile(t)
		p := &peer{world: 0, fast: new(FastPeer), medium: e.pool}
		v := e.pool.view
		v.Store64(e.pool.rootAt(boardFirst(0, 1)), off)
		v.Store64(e.pool.rootAt(boardAt(0, 1)), 1<<60)
		e.readBoard(p)
		if !p.broken {
			t.Errorf("first ring at %#x: not noticed", off)
		}
	}
}

// TestRingShape: rings that cannot be are refused at the start, not when two
// ranks first talk.
func TestRingShape(t *testing.T) {
	a, err := arena.Open(arena.Config{Path: shmDir(t) + "/pool", Size: 4 << 20, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	for _, c := range []struct {
		lines, bits int
		want        error
	}{{64, 5, ringq.ErrSeqBits}, {0, 4, ringq.ErrSeqBits}, {24, 0, ringq.ErrLines}, {4, 0, ringq.ErrLines}, {64, 7, nil}} {
		e, err := New(Config{Size: 1, Arena: a, Job: fmt.Sprint(c), RingLines: c.lines, SeqBits: c.bits})
		if !errors.Is(err, c.want) {
			t.Errorf("%d lines, %d bits: %v, want %v", c.lines, c.bits, err, c.want)
		}
		if err == nil {
			if err := e.Finalize(); err != nil {
				t.Error(err)
			}
		}
	}
}
