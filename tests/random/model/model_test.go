package model

import (
	"slices"
	"strings"
	"testing"

	"cmpi/tests/random/program"
)

// Two messages from rank 0 to rank 1, received by two receives: everything that
// can be observed of this is written by hand.
func twoMessages(source, tag int) *program.Case {
	half := func(peer, tag int) program.Half { return program.Half{Peer: peer, Tag: tag, Layout: program.Plain(4)} }
	send := func(msg, tag int) program.Op {
		return program.Op{Kind: program.Send, Step: 1 + msg, Msg: msg, Send: half(1, tag)}
	}
	recv := func(slot int) program.Op {
		return program.Op{Kind: program.Irecv, Msg: -1, Recv: half(source, tag), Slots: []int{slot}}
	}
	c := &program.Case{Ranks: 2, Cell: program.Cell{program.Byte}, Threads: [][][]program.Op{
		{{send(0, 5), send(1, 6)}},
		{{recv(0), recv(1), {Kind: program.Waitall, Step: 9, Msg: -1, Slots: []int{0, 1}}}},
	}}
	c.Finish()
	return c
}

// observation is what an MPI that makes no mistake tells of twoMessages, times
// in the order of the steps.
func observation() [][]Record {
	op := func(n int32, t0, t1 int64) Record {
		return Record{Op: n, Item: ItemOp, Msg: -1, Bad: -1, T0: t0, T1: t1}
	}
	got := func(slot, msg int32) Record {
		return Record{Op: 2, Item: slot, Source: 0, Tag: 5 + msg, Msg: msg, Bad: -1, Bytes: 4, T0: 30, T1: 40}
	}
	return [][]Record{
		{op(0, 10, 11), op(1, 12, 13)},
		{op(0, 1, 2), op(1, 3, 4), op(2, 30, 40), got(0, 0), got(1, 1),
			{Thread: program.EpilogueThread, Item: ItemOp, Msg: -1, Bad: -1, T0: 50, T1: 51}}, // drains nothing
	}
}

func TestCheck(t *testing.T) {
	const anySource, anyTag = program.AnySource, program.AnyTag
	swap := func(o [][]Record) { o[1][3].Item, o[1][4].Item = 1, 0 }
	for _, tc := range []struct {
		name        string
		source, tag int
		change      func([][]Record)
		want        string // part of the problem, "" for none
	}{
		{"legal", anySource, anyTag, func([][]Record) {}, ""},
		{"swapped", anySource, anyTag, swap, "out of order"},
		{"swapped, source named", 0, anyTag, swap, "out of order"},
		{"twice", anySource, anyTag, func(o [][]Record) { o[1][4].Msg, o[1][4].Tag = 0, 5 }, "received before"},
		{"lost", anySource, anyTag, func(o [][]Record) { o[1] = slices.Delete(o[1], 4, 5) }, "request left"},
		{"no such message", anySource, anyTag, func(o [][]Record) { o[1][4].Msg = 7 }, "there isn't"},
		{"wrong count", anySource, anyTag, func(o [][]Record) { o[1][4].Bytes = 3 }, "status says 3"},
		{"wrong source", anySource, anyTag, func(o [][]Record) { o[1][4].Source = 1 }, "source 1"},
		{"wrong tag", anySource, anyTag, func(o [][]Record) { o[1][4].Tag = 5 }, "tag 5"},
		{"wrong data", anySource, anyTag, func(o [][]Record) { o[1][4].Bad = 3 }, "byte 3 is wrong"},
		{"not accepted", anySource, 5, func([][]Record) {}, "doesn't accept"},
		{"error", anySource, anyTag, func(o [][]Record) { o[0][1].Class = ClassOther + 5 }, "error class"},
		{"truncated for nothing", anySource, anyTag, func(o [][]Record) { o[1][4].Class = ClassTruncate }, "error class 1"},
		{"beside the buffer", anySource, anyTag, func(o [][]Record) { o[1][4].Flags = FlagDirty }, "memory beside"},
		{"afterwards", anySource, anyTag, func(o [][]Record) { o[1] = append(o[1], Record{Op: 1, Item: ItemLate}) }, "changed"},
		{"cancelled by nobody", anySource, anyTag, func(o [][]Record) { o[1][4].Flags = FlagCancelled }, "nobody asked"},
		{"stray", anySource, anyTag, func(o [][]Record) { o[1][4].Flags = FlagStray }, "not active"},
		{"not executed", anySource, anyTag, func(o [][]Record) { o[0] = o[0][:1] }, "not executed"},
		{"before it was sent", anySource, anyTag, func(o [][]Record) {
			for i := range o[1] {
				o[1][i].T1 = o[1][i].T0 - 25 + 1
				o[1][i].T0 -= 25
			}
		}, "out of order"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := observation()
			tc.change(o)
			problems := strings.Join(Check(twoMessages(tc.source, tc.tag), o, Options{}), "\n")
			if (tc.want == "") != (problems == "") || !strings.Contains(problems, tc.want) {
				t.Errorf("problems: %q, want %q", problems, tc.want)
			}
		})
	}
}

// TestSynchronous: a synchronous send that ends before its receive is posted.
func TestSynchronous(t *testing.T) {
	c := twoMessages(program.AnySource, program.AnyTag)
	o := observation()
	c.Threads[0][0][1].Mode = program.Synchronous
	if problems := Check(c, o, Options{}); len(problems) > 0 {
		t.Fatalf("legal, but: %q", problems)
	}
	o[1][1].T0, o[1][1].T1 = 20, 21
	if problems := Check(c, o, Options{}); len(problems) == 0 {
		t.Error("the second receive was posted after the second send had ended, and nobody noticed")
	}
}
