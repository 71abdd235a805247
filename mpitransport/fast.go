package mpitransport

import "cmpi/ringq"

// What a C fast path above the engine needs to send and receive a message of
// one line without entering Go, in coherent mode only: the rings' positions,
// which it may advance by a line at a time, and flags that tell when it must
// leave the matter to the engine. Both sides run on the thread that owns the
// engine, so nothing here is atomic. The shim's fast.h mirrors these layouts
// (checked by a test there).

// FastPeer is the state of the two rings between this rank and another.
type FastPeer struct {
	Out     ringq.LineState // Out.Lines is nil until there is a ring
	In      ringq.LineState // likewise
	OutBusy uint64          // sends or control messages wait for the ring
	InBusy  uint64          // a message is being read, or the peer is broken
}

// FastComm is the state of a communicator.
type FastComm struct {
	// Waiting is how many posted receives and unexpected messages there are:
	// while there is one, matching is the engine's.
	Waiting uint64
}

// UseFast moves the communicator's fast state to memory that C can see.
func (c *Comm) UseFast(f *FastComm) {
	f.Waiting = c.fast.Waiting
	c.fast = f
	c.posted.waiting, c.unexp.waiting = &f.Waiting, &f.Waiting
}

// FastKind is the kind byte of the messages that the fast path may send and
// receive.
const FastKind = uint8(msgEager)
