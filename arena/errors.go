package arena

import (
	"errors"
	"fmt"
)

// The ways in which an operation on a pool fails. Test with errors.Is; the
// error returned wraps one of these in an *Error that says what was being done,
// to which pool, and what the user can do about it.
var (
	ErrNotPool     = errors.New("not a cMPI pool")
	ErrVersion     = errors.New("pool has another layout version")
	ErrTruncated   = errors.New("pool is shorter than it was when it was formatted")
	ErrTooSmall    = errors.New("too small for a pool")
	ErrExists      = errors.New("an object of this name exists")
	ErrNotFound    = errors.New("no object of this name")
	ErrNameTooLong = errors.New("object name is too long")
	ErrBadName     = errors.New("object name is empty or contains a zero byte")
	ErrBadSize     = errors.New("object size must be at least one byte")
	ErrPoolFull    = errors.New("pool is full")
	ErrPermission  = errors.New("no permission to read and write the pool")
	ErrCorrupt     = errors.New("pool metadata is corrupt")
	ErrLockTimeout = errors.New("pool lock was not released in time")
	ErrNoSpace     = errors.New("filesystem of the pool is full")
	ErrHostsFull   = errors.New("all host entries of the pool are taken")
	ErrMissing     = errors.New("pool does not exist")
	ErrClosed      = errors.New("arena or object is closed")
	ErrUnusable    = errors.New("cannot be used as a pool")
	ErrInUse       = errors.New("pool is in use")

	// ErrBlank is an ErrNotPool of which Config.Create would make a pool.
	ErrBlank = fmt.Errorf("%w: it was never formatted", ErrNotPool)
)

// remedies says in a few words what helps against each named error.
var remedies = map[error]string{
	ErrNotPool:     "name a pool, or a file that does not exist yet",
	ErrVersion:     "format it again with this version, or use the version of the library that made it",
	ErrTruncated:   "remove it, or restore its full length",
	ErrTooSmall:    fmt.Sprintf("give it at least %d MiB", MinSize>>20),
	ErrExists:      "destroy the object first, or choose another name",
	ErrNotFound:    "create the object first",
	ErrNameTooLong: fmt.Sprintf("use at most %d bytes", MaxName),
	ErrBadName:     fmt.Sprintf("use 1 to %d bytes without a zero byte", MaxName),
	ErrBadSize:     "ask for one byte or more",
	ErrPoolFull:    "use a larger pool, or free what dead jobs left in it (cmpi pool gc)",
	ErrPermission:  "let its owner grant read and write access, or use a pool of your own",
	ErrCorrupt:     "repair it (cmpi pool fsck), or format it again when no job uses it",
	ErrLockTimeout: "check that this host is alive; evict it from the pool if it is not (cmpi pool evict)",
	ErrNoSpace:     "free space there, or put the pool on another filesystem",
	ErrHostsFull:   "evict hosts that are gone (cmpi pool evict), or format the pool again",
	ErrMissing:     "create it first, or check the path",
	ErrUnusable:    "name a devdax device or a regular file",
	ErrInUse:       "end the jobs that use it first",
}

// Error is what every failing operation returns. Its text is one line that
// reads well after "cmpi: " and ends in a remedy.
type Error struct {
	Op     string // what was being done: "open", "create object", …
	Path   string // the pool
	Object string // the object's name, empty when it is about the pool
	Err    error  // one of the named errors
	Detail string // what exactly was seen; may be empty
}

func (e *Error) Error() string {
	s := e.Op
	if e.Object != "" {
		s += fmt.Sprintf(" %q", e.Object)
	}
	s += " in pool " + e.Path + ": " + e.Err.Error()
	if e.Op == opOpen {
		s = "pool " + e.Path + ": " + e.Err.Error()
	}
	if e.Detail != "" {
		s += " (" + e.Detail + ")"
	}
	for named, remedy := range remedies {
		if errors.Is(e.Err, named) {
			return s + "; " + remedy
		}
	}
	return s
}

// Unwrap gives the named error.
func (e *Error) Unwrap() error { return e.Err }

// The operations that an Error names.
const (
	opOpen    = "open"
	opFormat  = "format"
	opRemove  = "remove"
	opCreate  = "create object"
	opOpenObj = "open object"
	opDestroy = "destroy object"
	opClose   = "close object"
	opList    = "list objects"
	opGC      = "collect objects of the dead"
	opEvict   = "evict host"
	opCheck   = "check"
	opRepair  = "repair"
	opStat    = "look at"
)

// fault is an error below the API: a named error and what was seen. The API
// functions turn it into an Error.
type fault struct {
	err    error
	detail string
}

func (f *fault) Error() string { return f.err.Error() + " (" + f.detail + ")" }
func (f *fault) Unwrap() error { return f.err }

func faultf(err error, format string, args ...any) error {
	return &fault{err, fmt.Sprintf(format, args...)}
}

// wrap makes the Error that leaves the package; nil stays nil.
func wrap(op, path, object string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Op: op, Path: path, Object: object, Err: err}
	var f *fault
	if errors.As(err, &f) {
		e.Err, e.Detail = f.err, f.detail
	}
	return e
}
