package ringq

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"cmpi/flush"
)

// shared makes zeroed memory that all views of a test share.
func shared(t testing.TB, n int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, (n+os.Getpagesize()-1)&^(os.Getpagesize()-1), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return b
}

func view(t testing.TB, mem []byte, m flush.Mode, seed uint64) *flush.View {
	t.Helper()
	v, err := flush.NewView(mem, m, flush.Options{Seed: seed, Chaos: 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	return v
}

// ends makes the two ends of a ring, each with a cache of its own.
func ends(t testing.TB, mode flush.Mode, c Config, seed uint64) (Producer, Consumer, []byte) {
	t.Helper()
	mem := shared(t, c.Size())
	pv, cv := view(t, mem, mode, seed), view(t, mem, mode, seed+1)
	p, err := NewProducer(pv, pv.Base(), c)
	if err != nil {
		t.Fatal(err)
	}
	k, err := NewConsumer(cv, cv.Base(), c)
	if err != nil {
		t.Fatal(err)
	}
	return p, k, mem
}

var modes = []flush.Mode{flush.Coherent, flush.Flush, flush.Uncached, flush.Emulate}

// configs are rings small enough that every test wraps both the ring and the
// sequence space many times.
var configs = []Config{
	{Kind: Line, Lines: 8, SeqBits: 4, Key: 0xabcdef0123456789},
	{Kind: Line, Lines: 64, SeqBits: 7, Key: 1 << 50},
	{Kind: Line, Lines: 256, SeqBits: 10, Key: 1 << 50},
	{Kind: Line, Lines: 1024},
	{Kind: Cell, Lines: 256},
}

// message is test message i of a seed.
func message(seed uint64, i int) (Header, []byte) {
	r := rand.New(rand.NewPCG(seed, uint64(i)))
	n := r.IntN(60)
	switch r.IntN(8) {
	case 0:
		n = r.IntN(5000)
	case 1:
		n = r.IntN(40000)
	}
	b := make([]byte, n)
	for j := range b {
		b[j] = byte(i*31 + j*7)
	}
	return Header{Kind: uint8(1 + i%6), Ctx: uint64(i)<<20 | 5, Tag: uint32(i) & MaxTag, Len: uint64(n)}, b
}

// transfer pushes messages through a ring, producer and consumer taking turns
// at random, and compares what comes out.
func transfer(t *testing.T, p Producer, k Consumer, seed uint64, count int) {
	t.Helper()
	choose := rand.New(rand.NewPCG(seed, 1))
	var out []byte // rest of the message being sent
	sent, open := 0, false
	var h Header
	var in []byte
	reading := false
	for got, idle := 0, 0; got < count; {
		idle++
		if idle > 1_000_000 {
			t.Fatalf("seed %d: nothing moves after %d of %d messages", seed, got, count)
		}
		if choose.IntN(2) == 0 && (open || sent < count) {
			if !open {
				var sh Header
				sh, out = message(seed, sent)
				first := min(len(out), max(Inline, choose.IntN(len(out)+1)))
				n, ok := p.Begin(sh, at(out), first)
				if !ok {
					out = nil
					continue
				}
				sent++
				out = out[n:]
			} else {
				out = out[p.More(at(out), len(out)):]
			}
			if open = len(out) > 0; p.Left() != len(out) {
				t.Fatalf("seed %d: Left %d, want %d", seed, p.Left(), len(out))
			}
			continue
		}
		if !reading {
			if !k.Poll(&h) {
				continue
			}
			reading, in = true, make([]byte, 0, h.Len)
		}
		for len(in) < int(h.Len) {
			room := int(h.Len) - len(in)
			if choose.IntN(2) == 0 && room > flush.LinePayload {
				room = flush.LinePayload + choose.IntN(room-flush.LinePayload)
			}
			n := k.Read(unsafe.Pointer(unsafe.SliceData(in[len(in):len(in)+room])), room)
			in = in[:len(in)+n]
			if n == 0 {
				break
			}
		}
		if len(in) < int(h.Len) {
			continue
		}
		k.End()
		wh, wb := message(seed, got)
		if d := cmp.Diff(wh, h); d != "" {
			t.Fatalf("seed %d: header %d: %s", seed, got, d)
		}
		if !bytes.Equal(wb, in) {
			t.Fatalf("seed %d: payload of message %d (%d bytes) differs", seed, got, h.Len)
		}
		got, reading, idle = got+1, false, 0
	}
	if k.Poll(&h) {
		t.Fatalf("seed %d: a message that nobody sent: %+v", seed, h)
	}
}

func at(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

func TestTransfer(t *testing.T) {
	for _, mode := range modes {
		for _, c := range configs {
			t.Run(fmt.Sprintf("%v/%v-%d-%d", mode, c.Kind, c.Lines, c.SeqBits), func(t *testing.T) {
				count := 2000
				if mode == flush.Emulate || c.Lines == 8 {
					count = 300
				}
				for seed := uint64(1); seed <= 3; seed++ {
					p, k, _ := ends(t, mode, c, seed)
					transfer(t, p, k, seed, count)
				}
			})
		}
	}
}

// TestStaleMemory: bytes of an earlier job in the region are no messages.
func TestStaleMemory(t *testing.T) {
	c := configs[1]
	p, _, mem := ends(t, flush.Coherent, c, 1)
	_, b := message(1, 0)
	for i := range 20 {
		if _, ok := p.Begin(Header{Kind: 1, Tag: uint32(i), Len: uint64(min(len(b), Inline))}, at(b), min(len(b), Inline)); !ok {
			break
		}
	}
	clear(mem[:flush.LineSize])
	c.Key ^= 1 << 45
	v := view(t, mem, flush.Coherent, 1)
	k, err := NewConsumer(v, v.Base(), c)
	if err != nil {
		t.Fatal(err)
	}
	var h Header
	if k.Poll(&h) {
		t.Fatalf("an earlier job's line passed for a message: %+v", h)
	}
}

func TestConfigErrors(t *testing.T) {
	mem := shared(t, 1<<20)
	v := view(t, mem, flush.Coherent, 1)
	for _, tc := range []struct {
		name string
		c    Config
		off  int
		want error
	}{
		{"no power of two", Config{Lines: 100}, 0, ErrLines},
		{"too few", Config{Lines: 4}, 0, ErrLines},
		{"laps alike", Config{Lines: 16, SeqBits: 4}, 0, ErrSeqBits},
		{"too many bits", Config{Lines: 16, SeqBits: 41}, 0, ErrSeqBits},
		{"unaligned", Config{Lines: 16}, 8, ErrAlign},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := NewProducer(v, unsafe.Add(v.Base(), tc.off), tc.c); err != tc.want {
				t.Errorf("NewProducer: %v, want %v", err, tc.want)
			}
			if _, err := NewConsumer(v, unsafe.Add(v.Base(), tc.off), tc.c); err != tc.want {
				t.Errorf("NewConsumer: %v, want %v", err, tc.want)
			}
		})
	}
	if _, err := ParseKind("hash"); err == nil {
		t.Error("ParseKind accepts nonsense")
	}
}

// TestHostileCredit: a consumer that claims what it can't have consumed gains
// nothing.
func TestHostileCredit(t *testing.T) {
	c := Config{Lines: 8, SeqBits: 4}
	for _, claim := range []uint64{1 << 63, 3, 17, ^uint64(0)} { // lines are counted from 8
		p, _, mem := ends(t, flush.Coherent, c, 1)
		n := 0
		for ; n < 100; n++ {
			binary.LittleEndian.PutUint64(mem, claim)
			if _, ok := p.Begin(Header{Kind: 1}, nil, 0); !ok {
				break
			}
		}
		if n != c.Lines {
			t.Errorf("claim %#x: %d lines written ahead of the consumer, want %d", claim, n, c.Lines)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, mode := range modes[:3] {
		for _, c := range configs {
			p, k, _ := ends(t, mode, c, 1)
			buf := make([]byte, 200)
			var h Header
			if n := testing.AllocsPerRun(100, func() {
				p.Begin(Header{Kind: 1, Len: 200}, at(buf), 200)
				k.Poll(&h)
				k.Read(at(buf), 200)
				k.End()
			}); n != 0 {
				t.Errorf("%v %v: %v allocations per message", mode, c.Kind, n)
			}
		}
	}
}

// FuzzConsumer lets the producer's side of the region be any bytes: the
// consumer must neither crash nor read beyond the region, whatever the words
// and lengths say.
func FuzzConsumer(f *testing.F) {
	c := Config{Lines: 8, SeqBits: 4, Key: 7 << 40}
	word := newLineState(at(shared(f, c.Size())), c)
	good := make([]byte, 8*flush.LineSize)
	for i := range 8 {
		binary.LittleEndian.PutUint64(good[i*flush.LineSize+flush.LinePayload:], word.word(uint64(c.Lines+i)))
		binary.LittleEndian.PutUint64(good[i*flush.LineSize+8:], uint64(i)*100)
	}
	f.Add(good, false)
	f.Add([]byte{1, 2, 3}, true)
	f.Fuzz(func(t *testing.T, b []byte, cell bool) {
		c := c
		if cell {
			c.Kind = Cell
		}
		mem := shared(t, c.Size())
		v := view(t, mem, flush.Coherent, 1)
		copy(mem[creditSpan:], b)
		k, err := NewConsumer(v, v.Base(), c)
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1000)
		var h Header
		for range 100 {
			if !k.Poll(&h) {
				return
			}
			if h.Len > MaxLen || h.Tag > MaxTag {
				t.Fatalf("header out of range: %+v", h)
			}
			for k.Left() > 0 {
				n := k.Read(at(buf), len(buf))
				if n < 0 || n > len(buf) {
					t.Fatalf("Read said %d", n)
				}
				if n == 0 {
					return
				}
			}
			k.End()
		}
	})
}
