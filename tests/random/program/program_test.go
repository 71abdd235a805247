package program

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRemote(t *testing.T) {
	for _, tc := range []struct {
		comm        Comm
		ranks, self int
		want        []int
	}{
		{World, 3, 1, []int{0, 1, 2}},
		{Reversed, 3, 1, []int{2, 1, 0}},
		{Parity, 4, 1, []int{1, 3}},
		{Parity, 2, 1, []int{1}},
		{Inter, 4, 1, []int{0, 2}},
		{Inter, 3, 0, []int{1}},
	} {
		if d := cmp.Diff(tc.want, tc.comm.Remote(tc.ranks, tc.self)); d != "" {
			t.Errorf("%v of %d, rank %d: (-want +got)\n%s", tc.comm, tc.ranks, tc.self, d)
		}
	}
}

func TestTypes(t *testing.T) {
	cell := Cell{Int, Double} // size 12, extent 16
	inner := &Type{Kind: CellType}
	for _, tc := range []struct {
		t             *Type
		cells, lb, ub int
	}{
		{inner, 1, 0, 16},
		{&Type{Contiguous, []int{3}, inner}, 3, 0, 48},
		{&Type{Vector, []int{2, 3, 5}, inner}, 6, 0, 128},
		{&Type{Hvector, []int{2, 1, 24}, inner}, 2, 0, 40},
		{&Type{Indexed, []int{1, 4, 2, 1}, inner}, 3, 16, 80},
		{&Type{Hindexed, []int{1, 8, 1, 32}, inner}, 2, 8, 48},
		{&Type{IndexedBlock, []int{2, 0, 3}, inner}, 4, 0, 80},
		{&Type{Struct, []int{1, 0, 1, 24}, inner}, 2, 0, 40},
		{&Type{Subarray, []int{4, 5, 2, 3, 1, 1, 0}, inner}, 6, 0, 320},
		{&Type{Resized, []int{0, 24}, inner}, 1, 0, 24},
		{&Type{Duplicate, nil, &Type{Vector, []int{2, 1, 2}, inner}}, 2, 0, 48},
		{&Type{Vector, []int{2, 1, 2}, &Type{Resized, []int{0, 24}, inner}}, 2, 0, 72},
	} {
		lb, ub := tc.t.Bounds(cell)
		if tc.t.Cells() != tc.cells || lb != tc.lb || ub != tc.ub {
			t.Errorf("%v: %d cells, [%d, %d), want %d, [%d, %d)", tc.t, tc.t.Cells(), lb, ub, tc.cells, tc.lb, tc.ub)
		}
	}
}

// send and recv are operations of one cell on World.
func send(k Kind, step, msg, to, tag int, slots ...int) Op {
	return Op{Kind: k, Step: step, Msg: msg, Send: Half{to, tag, Plain(1)}, Slots: slots}
}

func recv(k Kind, step, from, tag int, slots ...int) Op {
	return Op{Kind: k, Step: step, Msg: -1, Recv: Half{from, tag, Plain(1)}, Slots: slots}
}

// TestUnsafe: what may wait for ever is found, what can't is left in peace.
func TestUnsafe(t *testing.T) {
	wait := func(step int, slots ...int) Op { return Op{Kind: Waitall, Step: step, Msg: -1, Slots: slots} }
	one := func(lists ...[]Op) *Case {
		c := &Case{Ranks: len(lists), Cell: Cell{Byte}}
		for _, ops := range lists {
			c.Threads = append(c.Threads, [][]Op{ops})
		}
		return c
	}
	for _, tc := range []struct {
		name string
		c    *Case
		want []Place // of the unsafe operations
	}{
		{"rendezvous", one([]Op{send(Send, 1, 0, 1, 0)}, []Op{recv(Recv, 1, 0, 0)}), nil},
		{"receive before send", one([]Op{send(Send, 2, 0, 1, 0)}, []Op{recv(Recv, 1, 0, 0)}), []Place{{1, 0, 0}}},
		{"both send first", one([]Op{send(Send, 1, 0, 1, 0), recv(Recv, 2, 1, 0)}, []Op{send(Send, 1, 1, 0, 0), recv(Recv, 2, 0, 0)}),
			[]Place{{0, 0, 0}, {1, 0, 0}}},
		{"another may take it", one([]Op{send(Isend, 1, 0, 1, 0, 0)}, []Op{recv(Irecv, 1, AnySource, 0, 0), recv(Recv, 2, 0, 0)}), []Place{{1, 0, 1}}},
		{"another takes the other", one([]Op{send(Isend, 1, 0, 1, 0, 0), send(Isend, 2, 1, 1, 0, 1)}, []Op{recv(Irecv, 1, AnySource, 0, 0), recv(Recv, 3, 0, 0)}), nil},
		{"a later one can't take it", one([]Op{send(Isend, 1, 0, 1, 0, 0)},
			[]Op{recv(Irecv, 1, 0, 0, 0), recv(Irecv, 2, 0, 0, 1), wait(3, 0)}), nil},
		{"the later one gets nothing", one([]Op{send(Isend, 1, 0, 1, 0, 0)},
			[]Op{recv(Irecv, 1, 0, 0, 0), recv(Irecv, 2, 0, 0, 1), wait(3, 0, 1)}), []Place{{1, 0, 2}}},
		{"a message of another rank", one([]Op{recv(Irecv, 1, AnySource, 0, 0), recv(Irecv, 2, AnySource, 0, 1), wait(5, 0, 1)},
			[]Op{send(Send, 3, 0, 0, 0)}, []Op{send(Send, 4, 1, 0, 0)}), nil},
		{"two messages for one receive", one([]Op{recv(Irecv, 1, AnySource, 0, 0)},
			[]Op{send(Send, 3, 0, 0, 0)}, []Op{send(Send, 4, 1, 0, 0)}), []Place{{1, 0, 0}, {2, 0, 0}}},
		{"cancelled", one([]Op{recv(Irecv, 1, 1, 0, 0), {Kind: Cancel, Step: 2, Msg: -1, Slots: []int{0}}, wait(3, 0)},
			[]Op{send(Send, 1, 0, 0, 0)}), []Place{{1, 0, 0}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []Place
			for _, u := range tc.c.Unsafe() {
				got = append(got, u.Place)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("unsafe: %v, want %v", got, tc.want)
			}
			tc.c.Weaken()
			if u := tc.c.Unsafe(); len(u) > 0 {
				t.Errorf("weakened, still unsafe: %v\n%v", u, tc.c)
			}
		})
	}
}
