package arena

import "errors"

// codes are the error codes of c/include/cxl_shm.h for errors of this package.
var codes = []struct {
	err  error
	code int
}{
	{ErrClosed, -2},
	{ErrNotPool, -5},
	{ErrVersion, -6},
	{ErrTruncated, -7},
	{ErrTooSmall, -8},
	{ErrExists, -9},
	{ErrNotFound, -10},
	{ErrNameTooLong, -11},
	{ErrBadName, -11},
	{ErrBadSize, -12},
	{ErrPoolFull, -13},
	{ErrPermission, -14},
	{ErrCorrupt, -15},
	{ErrLockTimeout, -16},
	{ErrNoSpace, -17},
	{ErrHostsFull, -18},
	{ErrMissing, -19},
	{ErrUnusable, -20},
}

// Code is the code by which the C interface names err: 0 for nil, CXL_SHM_E_…
// for an error of this package, CXL_SHM_E_UNUSABLE for any other.
func Code(err error) int {
	if err == nil {
		return 0
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return -20
}
