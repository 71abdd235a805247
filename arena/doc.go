// Package arena cuts one pool of shared memory into named objects.
//
// A pool is a devdax character device or a file that every process of a job
// maps. Processes of any host create, open and destroy objects in it by name at
// any time; the messaging layers above build their rings, windows and flags
// inside objects. The interface follows the CXL SHM Arena of the cMPI paper
// (SC'25, sections 3.1 and 3.7, Table 2), with an allocator that reuses space,
// mutual exclusion among hosts that share no cache, and repair after a crash.
//
// # Layout
//
// Every offset below is a pure function of the pool's size and the layout
// version (see geometry), so nothing read from the pool decides where we look:
//
//	0        superblock      magic, version, size, pool id, geometry, CRC
//	4 KiB    control         claims word | format claim | root A | root B
//	8 KiB    host table      64 × { X | Y | claim | lock }, one line each
//	24 KiB   present map     1 bit per page of the lazy area
//	         summaries       8 bytes per allocation group
//	-- page boundary: the lazy area, pages come to life on first use --
//	         hash            ten levels of 128-byte slots, flattened
//	         bitmap          one 4 KiB page per group, 1 bit per granule
//	-- page boundary --
//	Bounds() objects         granules of 4 KiB, an object is a run of them
//
// The part before the lazy area is reserved and initialised when the pool is
// formatted (28 KiB for a pool of 1 GiB); the rest costs nothing until used.
//
// # The invariant
//
// A slot with a good checksum and a state other than free owns exactly the
// granules that it names, and those granules' bits are set: the slots are the
// truth, bitmap and summaries are derived from them. A root record that is not
// idle names the one slot and the one range for which this may be untrue at the
// moment; whoever holds the lock next makes it true again.
//
// # Who writes what
//
// All metadata but the host table is written by the holder of the pool lock
// only, in whole cache lines that were freshly read, and is written back before
// the lock is given up. A host's claim and lock lines are written by that host
// only. The three words that hosts without a place of their own write (X, Y and
// the claims word) are registers: one 8-byte value alone in its line, stored
// whole, never modified in place. docs/arena.md has the argument; package
// modelcheck explores it exhaustively.
package arena
