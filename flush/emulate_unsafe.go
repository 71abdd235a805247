package flush

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// This file moves bytes between the three memories of the emulator.
//
// Private memory (cache, clean, and the callers' buffers) is accessed word by
// word in order, hidden from the race detector: here the emulator is the
// hardware, and a cache that reads a line while a program stores to it is no
// race. The program's own races are its callers' business.

// word returns the address of the 8-byte word at offset off.
func word(base unsafe.Pointer, off uintptr) unsafe.Pointer { return unsafe.Add(base, off) }

// loadRaw loads one word, once.
//
//go:norace
//go:noinline
func loadRaw(p unsafe.Pointer) uint64 { return *(*uint64)(p) }

// storeRaw stores one word, once.
//
//go:norace
//go:noinline
func storeRaw(p unsafe.Pointer, x uint64) { *(*uint64)(p) = x }

// stableReads bounds how often loadLine looks for two equal looks in a row. A
// thread that stores to a line of its own more often than that is looping over
// it; any later look will do.
const stableReads = 8

// loadLine takes a snapshot of a line that other threads may be storing to: two
// equal looks in a row, the flag word first in each, so that a payload is never
// older than the word it is paired with.
func loadLine(base unsafe.Pointer, line uintptr) [lineWords]uint64 {
	data := loadLineOnce(base, line)
	for range stableReads {
		again := loadLineOnce(base, line)
		if again == data {
			break
		}
		data = again
	}
	return data
}

func loadLineOnce(base unsafe.Pointer, line uintptr) (data [lineWords]uint64) {
	data[lineWords-1] = loadRaw(word(base, line+wordOffset))
	for i := range lineWords - 1 {
		data[i] = loadRaw(word(base, line+uintptr(i)*8))
	}
	return data
}

// storeLine stores a line, the flag word last. Equal words are left alone so
// that a page that was never written stays unbacked.
func storeLine(base unsafe.Pointer, line uintptr, data *[lineWords]uint64) {
	for i, x := range data {
		if p := word(base, line+uintptr(i)*8); loadRaw(p) != x {
			storeRaw(p, x)
		}
	}
}

// storeBytes copies n bytes of a caller's buffer into part of a cached line.
//
//go:norace
func storeBytes(dst, src unsafe.Pointer, n int) {
	for i := range n {
		*(*byte)(unsafe.Add(dst, i)) = *(*byte)(unsafe.Add(src, i))
	}
}

// loadBytes copies n bytes out of the cache to a caller's buffer.
func loadBytes(dst, src unsafe.Pointer, n int) {
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
}

// readPrivate returns a line that begins with n bytes of a caller's buffer.
func readPrivate(src unsafe.Pointer, n int) (data [lineWords]uint64) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&data)), LineSize), unsafe.Slice((*byte)(src), n))
	return data
}

// writePrivate copies the first n bytes of a line to a caller's buffer.
func writePrivate(dst unsafe.Pointer, data *[lineWords]uint64, n int) {
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(unsafe.Pointer(data)), LineSize))
}

// Memory exchanges whole lines, but a program can only move words. Two things
// make the words look like a line. Between processes, a line is written payload
// first and flag word last, and read flag word first, until two looks agree:
// what a reader then takes for a line is one, or (if the writer was stopped
// half way) a prefix of the new one under the old word, which an early eviction
// of ordinary stores can leave behind as well. Between the simulated hosts of
// one process, a lock makes the transfer atomic outright.

// homeAgents serialise the transfers of a line inside one process, as the home
// agent of the line does in hardware; striped by address.
var homeAgents [64]sync.Mutex

func homeAgent(p unsafe.Pointer) *sync.Mutex {
	return &homeAgents[uintptr(p)/LineSize%uintptr(len(homeAgents))]
}

// writeShared writes the first words of a line, in order.
func writeShared(base unsafe.Pointer, line uintptr, data *[lineWords]uint64, words int) {
	p := word(base, line)
	lock := homeAgent(p)
	lock.Lock()
	for i, x := range data[:words] {
		atomic.StoreUint64((*uint64)(unsafe.Add(p, i*8)), x)
	}
	lock.Unlock()
}

// writeSharedBytes writes those bytes of a line whose bits are set in mask; whole
// words as one.
func writeSharedBytes(base unsafe.Pointer, line uintptr, data *[lineWords]uint64, mask uint64) {
	p := word(base, line)
	lock := homeAgent(p)
	lock.Lock()
	for i, x := range data {
		at := unsafe.Add(p, i*8)
		bits := byte(mask >> (8 * i))
		if bits == 0xff {
			atomic.StoreUint64((*uint64)(at), x)
			continue
		}
		for b := range 8 {
			if bits>>b&1 != 0 {
				storeBytes(unsafe.Add(at, b), unsafe.Add(unsafe.Pointer(&data[i]), b), 1)
			}
		}
	}
	lock.Unlock()
}

// readShared reads a line.
func readShared(base unsafe.Pointer, line uintptr) [lineWords]uint64 {
	p := word(base, line)
	lock := homeAgent(p)
	lock.Lock()
	defer lock.Unlock()
	data := readSharedOnce(p)
	for range stableReads {
		again := readSharedOnce(p)
		if again == data {
			break
		}
		data = again
	}
	return data
}

func readSharedOnce(p unsafe.Pointer) (data [lineWords]uint64) {
	data[lineWords-1] = atomic.LoadUint64((*uint64)(unsafe.Add(p, wordOffset)))
	for i := range lineWords - 1 {
		data[i] = atomic.LoadUint64((*uint64)(unsafe.Add(p, i*8)))
	}
	return data
}
