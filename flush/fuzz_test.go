package flush

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// FuzzProtocol runs the right protocol under any adversary.
func FuzzProtocol(f *testing.F) {
	f.Add(uint64(1), uint8(10))
	f.Add(uint64(2), uint8(100))
	f.Fuzz(func(t *testing.T, seed uint64, chaos uint8) {
		m := sharedMemory(t, poolSize)
		o := Options{Seed: seed, Chaos: int(chaos)}
		w := newView(t, m, Emulate, o)
		o.Seed = ^seed
		r := newView(t, m, Emulate, o)
		if err := exchange(w, r, noMistake, 10, rand.New(rand.NewPCG(seed, 1))); err != nil {
			t.Fatalf("seed %d chaos %d: %v", seed, chaos, err)
		}
	})
}

// FuzzWrites lets one host write in every way there is, decoded from the input,
// and checks what another host then reads against a plain byte slice, in every
// mode.
func FuzzWrites(f *testing.F) {
	f.Add(uint64(1), []byte("\x00\x01\x10\x00\x01\x10\x02\x10\x00\x03\x33\x22\x04\x44\x11"))
	f.Add(uint64(2), []byte("\x04\xff\xff\x00\x3f\x41\x00\xff\x0f\x02\x00\x00"))
	f.Fuzz(func(t *testing.T, seed uint64, ops []byte) {
		if len(ops) > 300 {
			t.Skip("long inputs show nothing new")
		}
		for _, va := range variants() {
			if va.mode == Emulate {
				va.o.Seed = seed | 1
			}
			const size = 8 << 10
			m := sharedMemory(t, size)
			w, r := newView(t, m, va.mode, va.o), newView(t, m, va.mode, va.o)
			model := make([]byte, size)
			for i := 0; i+3 <= len(ops); i += 3 {
				write(w, model, ops[i], int(binary.LittleEndian.Uint16(ops[i+1:]))%size, fill(seed+uint64(i), size))
			}
			w.Fence()
			got := make([]byte, size)
			r.CopyOut(ptr(got), at(r, 0), size)
			if d := diff(model, got); d != "" {
				t.Fatalf("%s seed %d (-model +read):\n%s", va.name, seed, d)
			}
		}
	})
}

// write does one operation at offset off on both the View and the model.
func write(w *View, model []byte, op byte, off int, data []byte) {
	line := off &^ (LineSize - 1)
	n := min(int(op)*13, len(model)-off)
	switch op % 5 {
	case 0:
		w.CopyIn(at(w, off), ptr(data[op:]), n)
		copy(model[off:], data[op:][:n])
	case 1:
		w.PutLine(at(w, line), ptr(data[op:]))
		copy(model[line:], data[op:][:LineSize])
	case 2:
		lines := min(int(op)/5+1, (len(model)-line)/LineSize)
		w.PutLines(at(w, line), ptr(data), lines*LinePayload, 5)
		for i := range lines {
			copy(model[line+i*LineSize:], data[i*LinePayload:][:LinePayload])
			binary.NativeEndian.PutUint64(model[line+i*LineSize+wordOffset:], 5+uint64(i))
		}
	case 3:
		w.Store64(at(w, off&^7), uint64(op))
		binary.NativeEndian.PutUint64(model[off&^7:], uint64(op))
	case 4:
		copy(unsafe.Slice((*byte)(at(w, off)), n), data)
		w.WriteBack(at(w, off), n)
		copy(model[off:], data[:n])
	}
}

// FuzzCopies checks both copies at any alignment and length, in every mode.
func FuzzCopies(f *testing.F) {
	f.Add(uint16(0), uint16(1000), uint8(1), uint8(2))
	f.Add(uint16(63), uint16(66), uint8(31), uint8(0))
	f.Fuzz(func(t *testing.T, off, n uint16, from, to uint8) {
		for _, va := range variants() {
			m := sharedMemory(t, 1<<18)
			w, r := newView(t, m, va.mode, va.o), newView(t, m, va.mode, va.o)
			src, got := fill(uint64(n), int(from)+int(n)+1), make([]byte, int(to)+int(n)+64)
			w.CopyIn(at(w, int(off)), ptr(src[from:]), int(n))
			w.Fence()
			r.CopyOut(ptr(got[to:]), at(r, int(off)), int(n))
			want := make([]byte, len(got))
			copy(want[to:], src[from:][:n])
			if d := diff(want, got); d != "" {
				t.Fatalf("%s (-want +got):\n%s", va.name, d)
			}
		}
	})
}
