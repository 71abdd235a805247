// Package datatype keeps MPI derived datatypes in a flattened form and moves
// the bytes they describe. The engine packs into and unpacks from shared
// memory with it; the shim builds a Type for every MPI datatype of the
// program. It knows nothing of MPI handles or of basic types' meaning: a
// predefined type is a number of bytes.
//
// # Layout
//
// A datatype is a tree of loops around runs of bytes. Every level says where
// its blocks start, relative to the level above, and a block is either one run
// of contiguous bytes or a level of its own:
//
//	vector   |■■··|■■··|■■··|        n blocks, equal, stride bytes apart
//	indexed  |■■·|■■·····|■■|        n equal blocks at listed displacements
//	list     |■·|■■■■··|▒▒·▒▒|■|     n blocks, each with a size of its own
//
//	Vector(100, 4, 50, Bytes(8))  →  vector 100 × 400 (run 32)
//
// So a column of a matrix costs one level whatever its length, and an indexed
// type 8 bytes per block (16 when the blocks differ). Constructors normalise:
// empty blocks go, neighbours that touch are joined (unless that would make
// equal words unequal for little gain), loops that continue each other become
// one, and evenly spaced equal blocks become a vector. A type that covers its
// bytes without a hole is a single run whatever built it.
//
// # Invariant
//
// Walking the tree from left to right gives exactly the order of the MPI type
// map. Every block holds at least one byte, and all blocks of a vector or
// indexed level hold the same number of bytes. The packed stream of a message
// is that walk over count elements, so any position of the stream is found by
// one division (vector, indexed) or one binary search (list) per level, and
// packing can stop and go on at any byte without state.
//
// # Errors
//
// A Type is immutable and safe for use by several goroutines. Constructors
// don't fail on the spot: what can't be described (a negative count, bounds
// beyond 63 bits) yields a Type that holds no bytes and whose Err says why, and
// so does everything built from it.
package datatype
