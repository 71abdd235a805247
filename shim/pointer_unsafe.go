package main

import "unsafe"

// Conversions from addresses in the program's memory. The memory isn't Go's, so
// that the garbage collector has no say in it.

// statusAt is element i of the array of statuses at p, nil if the program
// ignores them.
func statusAt(p uintptr, i int) *status {
	if p = element(p, i); p == 0 || p == statusIgnore {
		return nil
	}
	return *(**status)(unsafe.Pointer(&p))
}

// handles is the program's array of n handles, nil if there is none.
func handles(p *int32, n int) []int32 {
	if p == nil || n <= 0 {
		return nil
	}
	return unsafe.Slice(p, n)
}
