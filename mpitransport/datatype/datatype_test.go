package datatype

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestShape fixes what the constructors make of common types: how compact the
// tree is, and MPI's numbers.
func TestShape(t *testing.T) {
	double, integer := Bytes(8), Bytes(4)
	pair := Struct([]int64{1, 1}, []int64{0, 8}, []*Type{integer, double})
	million := make([]int64, 1_000_000)
	for i := range million {
		million[i] = int64(3 * i)
	}
	for _, c := range []struct {
		name string
		t    *Type
		tree string
		figs figures
		runs int64
	}{
		{"double", double, "run 8", figures{8, 0, 8, 0, 8}, 1},
		{"nothing", Bytes(0), "empty", figures{}, 0},
		{"contiguous", Contiguous(100, double), "run 800", figures{800, 0, 800, 0, 800}, 1},
		{"contiguous none", Contiguous(0, double), "empty", figures{}, 0},
		{"column", Vector(100, 1, 50, double), "vector 100 × 400 (run 8)", figures{800, 0, 39608, 0, 39608}, 100},
		{"dense vector", Vector(10, 5, 5, double), "run 400", figures{400, 0, 400, 0, 400}, 1},
		{"backwards", Vector(3, 1, -2, double), "vector 3 × -16 (run 8)", figures{24, -32, 40, -32, 40}, 3},
		{"vector of columns", Hvector(4, 1, 1600, Vector(4, 1, 50, double)), "vector 16 × 400 (run 8)", figures{128, 0, 6008, 0, 6008}, 16},
		{"all of an array", Subarray([]int64{4, 5}, []int64{4, 5}, []int64{0, 0}, OrderC, double), "run 160", figures{160, 0, 160, 0, 160}, 1},
		{"rows of an array", Subarray([]int64{4, 5}, []int64{2, 5}, []int64{1, 0}, OrderC, double), "@40 run 80", figures{80, 0, 160, 40, 80}, 1},
		{"box", Subarray([]int64{4, 5}, []int64{2, 3}, []int64{1, 1}, OrderC, double), "@48 vector 2 × 40 (run 24)", figures{48, 0, 160, 48, 64}, 2},
		{"box, Fortran", Subarray([]int64{5, 4}, []int64{3, 2}, []int64{1, 1}, OrderFortran, double), "@48 vector 2 × 40 (run 24)", figures{48, 0, 160, 48, 64}, 2},
		{"even index", IndexedBlock(1, million, double), "vector 1000000 × 24 (run 8)", figures{8e6, 0, 24e6 - 16, 0, 24e6 - 16}, 1e6},
		{"touching blocks", Indexed([]int64{2, 0, 3}, []int64{1, 99, 3}, double), "@8 run 40", figures{40, 8, 40, 8, 40}, 1},
		{"uneven index", IndexedBlock(2, []int64{0, 4, 9}, double), "indexed 3 (run 16)", figures{48, 0, 88, 0, 88}, 3},
		{"uneven lengths", Indexed([]int64{1, 2}, []int64{0, 4}, double), "list 2 (run 8, @32 run 16)", figures{24, 0, 48, 0, 48}, 2},
		{"struct", pair, "list 2 (run 4, @8 run 8)", figures{12, 0, 16, 0, 16}, 2},
		{"struct in struct", Struct([]int64{1, 1}, []int64{0, 16}, []*Type{pair, integer}), "list 2 (run 4, @8 run 12)", figures{16, 0, 20, 0, 20}, 2},
		{"structs", Contiguous(9, pair), "vector 9 × 16 (list 2 (run 4, @8 run 8))", figures{108, 0, 144, 0, 144}, 18},
		{"resized", Resized(double, -8, 32), "run 8", figures{8, -8, 32, 0, 8}, 1},
		{"resized many", Contiguous(3, Resized(double, -8, 32)), "vector 3 × 32 (run 8)", figures{24, -8, 96, 0, 72}, 3},
		{"marker wins", Struct([]int64{1, 1}, []int64{0, 64}, []*Type{Resized(integer, 0, 8), integer}), "vector 2 × 64 (run 4)", figures{8, 0, 8, 0, 68}, 2},
		{"marker without data", Struct([]int64{1, 1}, []int64{16, 0}, []*Type{Resized(Bytes(0), 0, 8), integer}), "run 4", figures{4, 16, 8, 0, 4}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.t.Err(); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.tree, c.t.String()); d != "" {
				t.Errorf("tree (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.figs, figuresOf(c.t)); d != "" {
				t.Errorf("figures (-want +got):\n%s", d)
			}
			if got := c.t.Runs(); got != c.runs {
				t.Errorf("%d runs, want %d", got, c.runs)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	huge := Resized(Bytes(1), 0, math.MaxInt64)
	one := []int64{1}
	for _, c := range []struct {
		name string
		t    *Type
		want error
	}{
		{"negative bytes", Bytes(-1), ErrArgument},
		{"negative count", Contiguous(-1, Bytes(1)), ErrArgument},
		{"negative block", Vector(1, -1, 1, Bytes(1)), ErrArgument},
		{"negative block in a list", Hindexed([]int64{-1}, one, Bytes(1)), ErrArgument},
		{"negative block in a struct", Struct([]int64{-1}, one, []*Type{Bytes(1)}), ErrArgument},
		{"lists of different length", Hindexed(nil, one, Bytes(1)), ErrArgument},
		{"struct lists of different length", Struct(one, one, nil), ErrArgument},
		{"failed part", Contiguous(2, Bytes(-1)), ErrArgument},
		{"failed member", Struct(one, one, []*Type{Bytes(-1)}), ErrArgument},
		{"size", Contiguous(math.MaxInt64, Bytes(2)), ErrOverflow},
		{"extent", Contiguous(3, huge), ErrOverflow},
		{"stride", Vector(2, 1, 3, huge), ErrOverflow},
		{"index", Indexed(one, []int64{3}, huge), ErrOverflow},
		{"upper bound", Hindexed(one, []int64{math.MaxInt64}, Bytes(8)), ErrOverflow},
		{"distance", Hindexed([]int64{1, 1}, []int64{math.MinInt64 / 2, math.MaxInt64/2 + 2}, Bytes(8)), ErrOverflow},
		{"resized", Resized(Bytes(1), math.MaxInt64, 1), ErrOverflow},
		{"array", Subarray([]int64{1 << 40, 1 << 40}, []int64{1, 1}, []int64{0, 0}, OrderC, Bytes(1)), ErrOverflow},
		{"outside the array", Subarray([]int64{4}, []int64{3}, []int64{2}, OrderC, Bytes(1)), ErrArgument},
		{"no dimensions", Subarray(nil, nil, nil, OrderC, Bytes(1)), ErrArgument},
		{"storage order", Subarray(one, one, []int64{0}, 7, Bytes(1)), ErrArgument},
		{"rank outside the grid", Darray(2, 2, one, []Distribution{0}, []int64{DefaultArg}, []int64{2}, OrderC, Bytes(1)), ErrArgument},
		{"grid too small", Darray(4, 0, one, []Distribution{0}, []int64{DefaultArg}, []int64{2}, OrderC, Bytes(1)), ErrArgument},
		{"blocks too small", Darray(2, 0, []int64{9}, []Distribution{DistributeBlock}, []int64{4}, []int64{2}, OrderC, Bytes(1)), ErrArgument},
		{"undistributed over two", Darray(2, 0, []int64{9}, []Distribution{DistributeNone}, []int64{DefaultArg}, []int64{2}, OrderC, Bytes(1)), ErrArgument},
		{"unknown distribution", Darray(1, 0, []int64{9}, []Distribution{9}, []int64{DefaultArg}, one, OrderC, Bytes(1)), ErrArgument},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !errors.Is(c.t.Err(), c.want) {
				t.Errorf("error %v, want %v", c.t.Err(), c.want)
			}
			if c.t.Size() != 0 {
				t.Errorf("a failed type has %d bytes", c.t.Size())
			}
		})
	}
}

func TestTotal(t *testing.T) {
	wide := Resized(Bytes(8), 0, 1<<40)
	for _, c := range []struct {
		t     *Type
		count int64
		n     int64
		err   error
	}{
		{Bytes(8), 1 << 32, 1 << 35, nil},
		{wide, 1 << 20, 1 << 23, nil},
		{wide, 1 << 24, 0, ErrOverflow},
		{Bytes(8), 1 << 60, 0, ErrOverflow},
		{Bytes(8), -1, 0, ErrArgument},
		{Bytes(8), 0, 0, nil},
	} {
		if n, err := c.t.Total(c.count); n != c.n || !errors.Is(err, c.err) {
			t.Errorf("%d of %v: %d, %v; want %d, %v", c.count, c.t, n, err, c.n, c.err)
		}
	}
}

// TestCalc compares the checked arithmetic with big integers at the edges.
func TestCalc(t *testing.T) {
	edges := []int64{0, 1, -1, 2, -2, 3, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1,
		math.MaxInt64 / 2, math.MinInt64 / 2, 1 << 31, 1 << 32, -1 << 32, 3037000500}
	ops := []struct {
		name string
		f    func(c *calc, a, b int64) int64
		big  func(z, a, b *big.Int) *big.Int
	}{
		{"add", (*calc).add, (*big.Int).Add},
		{"sub", (*calc).sub, (*big.Int).Sub},
		{"mul", (*calc).mul, (*big.Int).Mul},
	}
	for _, op := range ops {
		for _, a := range edges {
			for _, b := range edges {
				var c calc
				got := op.f(&c, a, b)
				want := op.big(new(big.Int), big.NewInt(a), big.NewInt(b))
				if c.overflow == want.IsInt64() || !c.overflow && got != want.Int64() {
					t.Errorf("%s(%d, %d) = %d, overflow %v; want %v", op.name, a, b, got, c.overflow, want)
				}
			}
		}
	}
}

// arena is the user's memory of one test: room for every byte of the type on
// both sides of the buffer address.
type arena struct {
	mem  []byte
	zero int64 // index of the buffer address
}

func newArena(m typemap, fill func(i int) byte) arena {
	lo, hi := int64(0), int64(1)
	for _, d := range m.bytes {
		lo, hi = min(lo, d), max(hi, d+1)
	}
	a := arena{make([]byte, hi-lo+16), 8 - lo}
	for i := range a.mem {
		a.mem[i] = fill(i)
	}
	return a
}

func (a arena) buf() unsafe.Pointer { return unsafe.Pointer(&a.mem[a.zero]) }

// pattern is a byte that differs from its neighbours at all short distances.
func pattern(i int) byte { return byte(i*131 + i>>8*17 + 7) }

// check compares a generated type with its type map: numbers, packing,
// unpacking and segments, whole and in random pieces.
func check(t *testing.T, r chooser, s sample) {
	t.Helper()
	if err := s.t.Err(); err != nil {
		t.Fatalf("%s: %v", s.text, err)
	}
	if d := cmp.Diff(s.m.figures(), figuresOf(s.t)); d != "" {
		t.Fatalf("%s: figures (-want +got):\n%s", s.text, d)
	}
	count := some(r, 3)
	all := s.m.elements(count)
	total := int64(len(all.bytes))
	if n, err := s.t.Total(count); n != total || err != nil {
		t.Fatalf("%s: total %d, %v; want %d", s.text, n, err, total)
	}
	user := newArena(all, pattern)
	stream := make([]byte, total)
	for i, d := range all.bytes {
		stream[i] = user.mem[user.zero+d]
	}
	what := fmt.Sprintf("%d × %s = %v", count, s.text, s.t)

	packed := make([]byte, total+1)
	s.t.Pack(unsafe.Pointer(&packed[0]), user.buf(), count, 0, total)
	if !bytes.Equal(packed[:total], stream) {
		t.Fatalf("%s: packed\n%x, want\n%x", what, packed[:total], stream)
	}
	clear(packed)
	pieces(r, total, func(from, n int64) {
		s.t.Pack(unsafe.Pointer(&packed[from]), user.buf(), count, from, n)
	})
	if !bytes.Equal(packed[:total], stream) || packed[total] != 0 {
		t.Fatalf("%s: packed in pieces\n%x, want\n%x", what, packed, stream)
	}

	// Which byte wins where blocks overlap is open: MPI forbids to receive so.
	fill := func(int) byte { return 0xee }
	want, got := newArena(all, fill), newArena(all, fill)
	overlap := map[int64]bool{}
	for i, d := range all.bytes {
		_, overlap[d] = overlap[d]
		want.mem[want.zero+d] = stream[i]
	}
	pieces(r, total, func(from, n int64) {
		s.t.Unpack(got.buf(), unsafe.Pointer(&stream[from]), count, from, n)
	})
	for d, twice := range overlap {
		if twice {
			got.mem[got.zero+d] = want.mem[want.zero+d]
		}
	}
	if !bytes.Equal(got.mem, want.mem) {
		t.Fatalf("%s: unpacked\n%x, want\n%x", what, got.mem, want.mem)
	}
	checkSegments(t, r, what, s.t, count, all, user)
	off, n, ok := s.t.Contig(count)
	dense := true
	for i, d := range all.bytes {
		dense = dense && d == all.bytes[0]+int64(i)
	}
	if ok != dense || ok && n != total || ok && n > 0 && off != all.bytes[0] {
		t.Fatalf("%s: contiguous (%d, %d, %v), want (_, %d, %v)", what, off, n, ok, total, dense)
	}
}

// pieces calls f for consecutive pieces of [0, total), and once with an empty
// one.
func pieces(r chooser, total int64, f func(from, n int64)) {
	sizes := []int64{1, 7, 56, 64, 4096}
	for from := int64(0); from < total; {
		n := min(1+some(r, 2)*sizes[r.IntN(len(sizes))]+some(r, 9), total-from)
		f(from, n)
		from += n
	}
}

// checkSegments compares the listed runs with the type map, in batches of
// random size, from a random start.
func checkSegments(t *testing.T, r chooser, what string, dt *Type, count int64, all typemap, user arena) {
	t.Helper()
	total := int64(len(all.bytes))
	from := int64(0)
	if total > 0 {
		from = int64(r.IntN(int(total)))
	}
	out := make([]Segment, 1+r.IntN(5))
	for pos := from; ; {
		n, next := dt.Segments(user.buf(), count, pos, out)
		if n == 0 {
			if pos != total || next != pos {
				t.Fatalf("%s: segments end at %d, next %d, of %d", what, pos, next, total)
			}
			return
		}
		for i, s := range out[:n] {
			if s.Len <= 0 || i > 0 && out[i-1].Addr+uintptr(out[i-1].Len) == s.Addr {
				t.Fatalf("%s: segments not joined: %v", what, out[:n])
			}
			for k := range s.Len {
				if at := int64(s.Addr) + k - int64(uintptr(user.buf())); pos >= total || at != all.bytes[pos] {
					t.Fatalf("%s: byte %d in a segment at %d", what, pos, at)
				}
				pos++
			}
		}
		if next != pos {
			t.Fatalf("%s: segments end at %d, next says %d", what, pos, next)
		}
	}
}

// TestRandom checks random types of depth 1 to 4 against the reference.
func TestRandom(t *testing.T) {
	cases := uint64(6000)
	if testing.Short() {
		cases = 500
	}
	for seed := range cases {
		r := seeded(seed)
		s := generate(r, 1+int(seed%4))
		check(t, r, s)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// FuzzType lets the fuzzer choose type, count and split points.
func FuzzType(f *testing.F) {
	for seed := range uint64(32) {
		r := seeded(seed)
		b := make([]byte, 64)
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &script{b}
		check(t, r, generate(r, 1+r.IntN(4)))
	})
}

// FuzzBounds compares the bounds of a vector with big integers: either equal, or
// an error because one of them doesn't fit.
func FuzzBounds(f *testing.F) {
	f.Add(int64(3), int64(2), int64(-5), int64(0), int64(8))
	f.Add(int64(1)<<40, int64(1)<<20, int64(1)<<30, int64(-1), int64(1)<<62)
	f.Add(int64(2), int64(1), int64(math.MinInt64), int64(0), int64(1))
	f.Fuzz(func(t *testing.T, count, block, stride, lb, extent int64) {
		if count < 1 || block < 1 {
			return
		}
		d := Hvector(count, block, stride, Resized(Bytes(8), lb, extent))
		big1 := big.NewInt(1)
		span := func(n, step int64) (lo, hi *big.Int) {
			last := new(big.Int).Mul(new(big.Int).Sub(big.NewInt(n), big1), big.NewInt(step))
			zero := new(big.Int)
			if last.Sign() < 0 {
				return last, zero
			}
			return zero, last
		}
		lo1, hi1 := span(block, extent)
		lo2, hi2 := span(count, stride)
		wantLB := new(big.Int).Add(new(big.Int).Add(lo1, lo2), big.NewInt(lb))
		wantUB := new(big.Int).Add(new(big.Int).Add(hi1, hi2), new(big.Int).Add(big.NewInt(lb), big.NewInt(extent)))
		size := new(big.Int).Mul(new(big.Int).Mul(big.NewInt(count), big.NewInt(block)), big.NewInt(8))
		if err := d.Err(); err != nil {
			if !errors.Is(err, ErrOverflow) {
				t.Fatal(err)
			}
			return
		}
		if !wantLB.IsInt64() || wantLB.Int64() != d.LB() || !wantUB.IsInt64() || wantUB.Int64() != d.UB() || !size.IsInt64() || size.Int64() != d.Size() {
			t.Errorf("lb %d ub %d size %d, want %v %v %v", d.LB(), d.UB(), d.Size(), wantLB, wantUB, size)
		}
	})
}

// TestClip: whatever range is asked for, nothing outside the data is touched.
func TestClip(t *testing.T) {
	v := Vector(3, 1, 2, Bytes(4))
	for _, r := range [][2]int64{{-1, 4}, {0, -1}, {24, 4}, {math.MaxInt64, 8}, {4, math.MaxInt64}, {0, 1 << 40}} {
		mem := make([]byte, 48)
		src := bytes.Repeat([]byte{1}, 24)
		v.Unpack(unsafe.Pointer(&mem[0]), unsafe.Pointer(&src[0]), 2, r[0], r[1])
		for i, b := range mem {
			if data := i < 20 && i%8 < 4 || i >= 20 && i < 40 && (i-20)%8 < 4; b != 0 && !data {
				t.Errorf("range %v: byte %d written", r, i)
			}
		}
	}
}

// TestBottom packs from and unpacks to absolute addresses, with a nil buffer.
func TestBottom(t *testing.T) {
	mem, err := unix.Mmap(-1, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	for i := range mem {
		mem[i] = pattern(i)
	}
	at := func(i int) int64 { return int64(uintptr(unsafe.Pointer(&mem[i]))) }
	d := Struct([]int64{2, 1, 3}, []int64{at(40000), at(16), at(5000)}, []*Type{Bytes(8), Vector(3, 1, 4, Bytes(4)), Bytes(1)})
	want := append(append(append([]byte{}, mem[40000:40016]...),
		mem[16], mem[17], mem[18], mem[19], mem[32], mem[33], mem[34], mem[35], mem[48], mem[49], mem[50], mem[51]), mem[5000:5003]...)
	got := make([]byte, d.Size())
	d.Pack(unsafe.Pointer(&got[0]), nil, 1, 0, d.Size())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packed (-want +got):\n%s", diff)
	}
	clear(mem)
	d.Unpack(nil, unsafe.Pointer(&want[0]), 1, 0, d.Size())
	clear(got)
	d.Pack(unsafe.Pointer(&got[0]), nil, 1, 0, d.Size())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unpacked and packed again (-want +got):\n%s", diff)
	}
	out := make([]Segment, 8)
	n, next := d.Segments(nil, 1, 0, out)
	segs := []Segment{{uintptr(at(40000)), 16}, {uintptr(at(16)), 4}, {uintptr(at(32)), 4}, {uintptr(at(48)), 4}, {uintptr(at(5000)), 3}}
	if diff := cmp.Diff(segs, out[:n]); diff != "" || next != d.Size() {
		t.Errorf("segments up to %d (-want +got):\n%s", next, diff)
	}
}

// TestHuge moves single bytes of a type far larger than memory: only what is
// asked for is touched.
func TestHuge(t *testing.T) {
	const stride = 1 << 33
	d := Resized(Hvector(1<<20, 1, stride, Bytes(1<<20)), 0, 0)
	mem := make([]byte, 1<<20)
	var b byte
	for _, pos := range []int64{0, 5, 1 << 33, 1<<40 - 1} {
		block, inside := pos>>20, pos&(1<<20-1)
		mem[inside] = 0x5a
		out := make([]Segment, 1)
		if n, next := d.Segments(unsafe.Pointer(&mem[0]), 1, pos, out); n != 1 || next != (block+1)<<20 {
			t.Errorf("position %d: %d segments, next %d", pos, n, next)
		}
		if want := uintptr(unsafe.Pointer(&mem[0])) + uintptr(block*stride+inside); out[0].Addr != want {
			t.Errorf("position %d at %#x, want %#x", pos, out[0].Addr, want)
		}
		if block == 0 {
			d.Pack(unsafe.Pointer(&b), unsafe.Pointer(&mem[0]), 1, pos, 1)
			if b != 0x5a {
				t.Errorf("position %d: packed %#x", pos, b)
			}
		}
	}
}

func TestAllocs(t *testing.T) {
	for _, w := range workloads() {
		user, packed := make([]byte, w.memory()), make([]byte, w.bytes())
		out := make([]Segment, 64)
		allocs := testing.AllocsPerRun(20, func() {
			w.t.Pack(unsafe.Pointer(&packed[0]), unsafe.Pointer(&user[0]), w.count, 3, w.bytes()-5)
			w.t.Unpack(unsafe.Pointer(&user[0]), unsafe.Pointer(&packed[0]), w.count, 3, w.bytes()-5)
			w.t.Segments(unsafe.Pointer(&user[0]), w.count, 3, out)
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", w.name, allocs)
		}
	}
}
