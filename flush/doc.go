// Package flush is the only code of cMPI that knows about caches. It moves
// lines and ranges between a process and memory that other hosts share, in the
// way that the memory needs (see Mode), with the instruction that the CPU has
// (see Caps). Package arena makes a View of its mapping; everything above
// reaches shared memory through that View.
//
// The unit is the flagged line, which validates itself:
//
//	 0                                                     56        64
//	┌───────────────────────────────────────────────────────┬─────────┐
//	│ payload                                               │  word   │
//	└───────────────────────────────────────────────────────┴─────────┘
//
// The invariant that must never break: whoever sees a line's word sees the
// payload that was published with it. The writer makes the word the last thing
// of its line to become visible; the reader takes the word first. A stale line
// in a reader's cache has another word, so the reader drops it and looks again.
//
// A line has one writer, ever. Nothing here is an atomic read-modify-write on
// shared memory, and no primitive allocates (Emulate excepted).
//
// Emulate replaces the cache of the host by private memory, so that a missing
// write-back, fence or invalidation, or a second writer in a line, is a failing
// test on any coherent machine; see emulator.
package flush
