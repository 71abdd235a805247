package model

// Record is one thing that the executor saw: that an operation returned, that a
// request was completed, what a probe told. The layout is the executor's
// (executor/log.h): 64 bytes, little-endian.
type Record struct {
	Case   int32 // place in the run
	Thread int32 // program.EpilogueThread for the epilogue
	Op     int32 // index in the thread's list
	Item   int32 // request slot, or one of the items below
	Class  int32 // error class, one of those below
	Source int32 // of the status, in package program's numbers
	Tag    int32 // likewise
	Msg    int32 // first data byte, which is the message's number; -1 without data
	Bad    int32 // first data byte that is not the message's, -1 for none
	Flags  uint32
	Bytes  int64 // of the status
	T0, T1 int64 // when the call began and ended, ns of one clock for all ranks
}

// Items that are no request slots.
const (
	ItemOp    = -1 // the operation itself
	ItemRecv  = -2 // the message of a blocking receive
	ItemProbe = -3 // what a probe found
	ItemLate  = -4 // the buffer changed after the request was complete
)

// Error classes.
const (
	ClassOK       = 0
	ClassTruncate = 1
	ClassInStatus = 2
	ClassPending  = 3
	ClassOther    = 1000 // plus MPI's number
)

// Flags of a record.
const (
	FlagFound     = 1 << iota // a probe or a test said yes, a matched message was there
	FlagCancelled             // MPI_Test_cancelled
	FlagPeek                  // the request lives on (MPI_Request_get_status)
	FlagDirty                 // bytes that don't belong to the message were written
	FlagElements              // MPI_Get_elements contradicts MPI_Get_count
	FlagStray                 // a request was completed that wasn't active
)
