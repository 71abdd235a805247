package mpitransport

// Class is an MPI error class by name (MPI-4.0 section 9.4), independent of
// the numbers that an MPI library's ABI gives them.
type Class int32

// The classes the engine reports.
const (
	OK Class = iota
	ErrCount
	ErrTag
	ErrRank
	ErrTruncate
	ErrRequest
	ErrInternal
	ErrOther
	ErrNoMem
	ErrPending
)

var classNames = [...]string{
	OK: "success", ErrCount: "invalid count", ErrTag: "invalid tag", ErrRank: "invalid rank",
	ErrTruncate: "message truncated on receive", ErrRequest: "invalid request",
	ErrInternal: "the peer's shared memory is corrupt", ErrOther: "other error",
	ErrNoMem: "out of memory", ErrPending: "pending",
}

func (c Class) String() string {
	if c >= 0 && int(c) < len(classNames) {
		return classNames[c]
	}
	return "unknown error class"
}

// Error makes a Class an error value.
func (c Class) Error() string { return c.String() }
