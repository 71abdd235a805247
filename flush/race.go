//go:build race

package flush

import (
	"runtime"
	"unsafe"
)

// The race detector does not see assembly. These calls tell it that a word was
// handed over, so that it neither misses nor invents an ordering in callers.

// raceTokens stand for the shared lines: the detector knows only the program's
// own data and heap, not a mapping. Lines that share a token may hide a race of
// the callers, but never invent one.
var raceTokens [4096]byte

// raceToken returns the token of p, which is the same in every View of one
// shared memory.
func raceToken(v *View, p unsafe.Pointer) unsafe.Pointer {
	line := (uintptr(p) - uintptr(v.base)) / LineSize
	return unsafe.Pointer(&raceTokens[line%uintptr(len(raceTokens))])
}

func raceRelease(v *View, p unsafe.Pointer) { runtime.RaceReleaseMerge(raceToken(v, p)) }
func raceAcquire(v *View, p unsafe.Pointer) { runtime.RaceAcquire(raceToken(v, p)) }

// raceLines is n: the number of lines to tell the race detector about.
func raceLines(n int) int { return n }
