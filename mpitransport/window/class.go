package window

import "fmt"

// Class is an MPI error class by name (MPI-4.0 sections 9.4 and 12.8),
// independent of the numbers that an MPI library's ABI gives them.
type Class int32

// The classes that windows report.
const (
	OK          Class = iota
	ErrArg            // a Config or argument that makes no sense (MPI_ERR_ARG)
	ErrNoMem          // no room in the pool; every member gets it (MPI_ERR_NO_MEM)
	ErrCount          // negative count (MPI_ERR_COUNT)
	ErrRank           // no such rank in the window's group (MPI_ERR_RANK)
	ErrGroup          // a group that names a rank twice or one that is none (MPI_ERR_GROUP)
	ErrType           // a datatype that is broken or not made of the element given (MPI_ERR_TYPE)
	ErrOp             // an operation that the element kind does not have (MPI_ERR_OP)
	ErrTruncate       // origin and target data differ in length (MPI_ERR_TRUNCATE)
	ErrDisp           // negative target displacement (MPI_ERR_DISP)
	ErrRange          // target data not inside the target's segment (MPI_ERR_RMA_RANGE)
	ErrSync           // no epoch that allows the call, or one that forbids it (MPI_ERR_RMA_SYNC)
	ErrLockType       // neither LockShared nor LockExclusive (MPI_ERR_LOCKTYPE)
	ErrAssert         // unknown bits in an assertion (MPI_ERR_ASSERT)
	ErrLost           // a member died while this rank waited (MPI_ERR_OTHER, or MPIX_ERR_PROC_FAILED)
	ErrCorrupt        // the window's control area makes no sense (MPI_ERR_INTERN)
	ErrOther          // the barrier of Config failed (MPI_ERR_OTHER)
)

var classNames = [...]string{
	OK: "success", ErrArg: "invalid argument", ErrNoMem: "no room in the pool", ErrCount: "invalid count",
	ErrRank: "invalid rank", ErrGroup: "invalid group", ErrType: "invalid datatype", ErrOp: "invalid operation",
	ErrTruncate: "origin and target data differ in length", ErrDisp: "invalid displacement",
	ErrRange: "target data outside the window", ErrSync: "wrong synchronization of RMA calls",
	ErrLockType: "invalid lock type", ErrAssert: "invalid assertion",
	ErrLost: "a process of the window died", ErrCorrupt: "the window's shared memory is corrupt", ErrOther: "other error",
}

func (c Class) String() string {
	if c >= 0 && int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("window.Class(%d)", int32(c))
}

// Error makes a Class an error value.
func (c Class) Error() string { return c.String() }
