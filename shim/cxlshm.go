package main

// #include <stdlib.h>
// #include "../c/include/cxl_shm.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"unsafe"

	"cmpi/arena"
	"cmpi/settings"
)

// shm is the pool of the cxl_shm interface. It is apart from that of a job.
var shm struct {
	sync.RWMutex // held for writing by what changes pool or handles
	pool         *arena.Arena
	objects      table[arena.Object] // handles are the numbers plus one

	errorLock sync.Mutex
	lastError *C.char
}

// shmCodes are the arena's errors in the interface.
var shmCodes = []struct {
	err  error
	code C.int
}{
	{arena.ErrNotPool, C.CXL_SHM_E_NOT_POOL},
	{arena.ErrVersion, C.CXL_SHM_E_VERSION},
	{arena.ErrTruncated, C.CXL_SHM_E_TRUNCATED},
	{arena.ErrTooSmall, C.CXL_SHM_E_TOO_SMALL},
	{arena.ErrExists, C.CXL_SHM_E_EXISTS},
	{arena.ErrNotFound, C.CXL_SHM_E_NOT_FOUND},
	{arena.ErrNameTooLong, C.CXL_SHM_E_NAME},
	{arena.ErrBadName, C.CXL_SHM_E_NAME},
	{arena.ErrBadSize, C.CXL_SHM_E_SIZE},
	{arena.ErrPoolFull, C.CXL_SHM_E_FULL},
	{arena.ErrPermission, C.CXL_SHM_E_PERMISSION},
	{arena.ErrCorrupt, C.CXL_SHM_E_CORRUPT},
	{arena.ErrLockTimeout, C.CXL_SHM_E_TIMEOUT},
	{arena.ErrNoSpace, C.CXL_SHM_E_NO_SPACE},
	{arena.ErrHostsFull, C.CXL_SHM_E_HOSTS},
	{arena.ErrMissing, C.CXL_SHM_E_MISSING},
	{arena.ErrClosed, C.CXL_SHM_E_HANDLE},
}

// shmFailed notes what went wrong and gives the code back.
func shmFailed(code C.int, format string, args ...any) C.int {
	shm.errorLock.Lock()
	defer shm.errorLock.Unlock()
	C.free(unsafe.Pointer(shm.lastError))
	shm.lastError = C.CString(fmt.Sprintf(format, args...))
	return code
}

// shmResult is the code of an arena call.
func shmResult(err error) C.int {
	if err == nil {
		return C.CXL_SHM_OK
	}
	for _, c := range shmCodes {
		if errors.Is(err, c.err) {
			return shmFailed(c.code, "%v", err)
		}
	}
	return shmFailed(C.CXL_SHM_E_UNUSABLE, "%v", err)
}

//export goShmLastError
func goShmLastError() *C.char {
	defer rescue()
	shm.errorLock.Lock()
	defer shm.errorLock.Unlock()
	if shm.lastError == nil {
		return emptyString
	}
	return shm.lastError
}

//export goShmInit
func goShmInit(path *C.char, size C.uint64_t) C.int {
	defer rescue()
	shm.Lock()
	defer shm.Unlock()
	if shm.pool != nil {
		return shmFailed(C.CXL_SHM_E_STATE, "a pool is open already; call cxl_shm_finalize first")
	}
	s, err := settings.Parse(environ())
	if err != nil {
		return shmFailed(C.CXL_SHM_E_SETTING, "%v", err)
	}
	if path != nil {
		s.Pool = C.GoString(path)
	}
	if size > math.MaxInt64 {
		return shmFailed(C.CXL_SHM_E_ARGUMENT, "a pool of %d bytes", size)
	}
	if size > 0 {
		s.PoolSize = int64(size)
	}
	if s.Pool == "" {
		return shmFailed(C.CXL_SHM_E_ARGUMENT, "the pool is not known; name it or set CMPI_POOL")
	}
	mode, err := plainCoherence(s)
	if err != nil {
		return shmFailed(C.CXL_SHM_E_SETTING, "%v", err)
	}
	restoreSignals()
	pool, err := arena.Open(poolConfig(s, mode))
	if err == nil {
		shm.pool = pool
	}
	return shmResult(err)
}

//export goShmFinalize
func goShmFinalize() C.int {
	defer rescue()
	shm.Lock()
	defer shm.Unlock()
	if shm.pool == nil {
		return shmNotOpen()
	}
	shm.objects = table[arena.Object]{}
	err := shm.pool.Close()
	shm.pool = nil
	return shmResult(err)
}

func shmNotOpen() C.int {
	return shmFailed(C.CXL_SHM_E_STATE, "no pool is open; call cxl_shm_init first")
}

// shmAdd gives an object its handle.
func shmAdd(handle *C.cxl_shm_handle, get func(*arena.Arena) (*arena.Object, error)) C.int {
	shm.RLock()
	defer shm.RUnlock()
	if shm.pool == nil {
		return shmNotOpen()
	}
	o, err := get(shm.pool)
	if err == nil {
		*handle = C.cxl_shm_handle(shm.objects.add(o, nil) + 1)
	}
	return shmResult(err)
}

//export goShmCreate
func goShmCreate(name *C.char, size C.size_t, handle *C.cxl_shm_handle) C.int {
	defer rescue()
	if name == nil || handle == nil {
		return shmFailed(C.CXL_SHM_E_ARGUMENT, "create: no name or no address for the handle")
	}
	if size > math.MaxInt64 {
		return shmFailed(C.CXL_SHM_E_SIZE, "create: %d bytes", size)
	}
	return shmAdd(handle, func(a *arena.Arena) (*arena.Object, error) { return a.Create(C.GoString(name), int64(size)) })
}

//export goShmOpen
func goShmOpen(name *C.char, handle *C.cxl_shm_handle) C.int {
	defer rescue()
	if name == nil || handle == nil {
		return shmFailed(C.CXL_SHM_E_ARGUMENT, "open: no name or no address for the handle")
	}
	return shmAdd(handle, func(a *arena.Arena) (*arena.Object, error) { return a.OpenObject(C.GoString(name)) })
}

// shmObject finds the object of a handle, nil if there is none.
func shmObject(handle C.cxl_shm_handle) *arena.Object {
	if shm.pool == nil || handle < 1 {
		return nil
	}
	return shm.objects.get(uint32(handle - 1))
}

func shmNoObject(handle C.cxl_shm_handle) C.int {
	return shmFailed(C.CXL_SHM_E_HANDLE, "no object has the handle %d", handle)
}

// goShmClose gives up a handle, and removes the object if destroy isn't 0.
//
//export goShmClose
func goShmClose(handle *C.cxl_shm_handle, destroy C.int) (code C.int) {
	defer rescue()
	shm.Lock()
	defer shm.Unlock()
	if handle == nil {
		return shmFailed(C.CXL_SHM_E_ARGUMENT, "close: no address of a handle")
	}
	o := shmObject(*handle)
	if o == nil {
		return shmNoObject(*handle)
	}
	var err error
	if destroy != 0 {
		if err = o.Destroy(); err != nil && !errors.Is(err, arena.ErrNotFound) {
			return shmResult(err) // still there, and open
		}
	} else {
		err = o.Close()
	}
	shm.objects.put(uint32(*handle - 1))
	*handle = C.CXL_SHM_NULL
	return shmResult(err)
}

//export goShmAddr
func goShmAddr(handle C.cxl_shm_handle) unsafe.Pointer {
	defer rescue()
	shm.RLock()
	defer shm.RUnlock()
	if o := shmObject(handle); o != nil {
		return o.Addr()
	}
	return nil
}

//export goShmSize
func goShmSize(handle C.cxl_shm_handle) C.size_t {
	defer rescue()
	shm.RLock()
	defer shm.RUnlock()
	if o := shmObject(handle); o != nil {
		return C.size_t(o.Size())
	}
	return 0
}

//export goShmOffset
func goShmOffset(handle C.cxl_shm_handle) C.uint64_t {
	defer rescue()
	shm.RLock()
	defer shm.RUnlock()
	if o := shmObject(handle); o != nil {
		return C.uint64_t(o.Offset())
	}
	return 0
}

// goShmSync writes a range of an object back, or drops what the caches hold of
// it.
//
//export goShmSync
func goShmSync(handle C.cxl_shm_handle, off, n C.size_t, back C.int) C.int {
	defer rescue()
	shm.RLock()
	defer shm.RUnlock()
	o := shmObject(handle)
	if o == nil {
		return shmNoObject(handle)
	}
	if size := C.size_t(o.Size()); off > size || n > size-off {
		return shmFailed(C.CXL_SHM_E_ARGUMENT, "%d bytes at %d of object %q, which has %d", n, off, o.Name(), size)
	}
	if n == 0 {
		return C.CXL_SHM_OK
	}
	v, at := shm.pool.View(), unsafe.Add(o.Addr(), off)
	if back == 0 {
		v.Invalidate(at, int(n)) // writes back first what was written here
		return C.CXL_SHM_OK
	}
	v.WriteBack(at, int(n))
	v.Fence()
	return C.CXL_SHM_OK
}

//export goShmCollect
func goShmCollect() C.int {
	defer rescue()
	shm.RLock()
	defer shm.RUnlock()
	if shm.pool == nil {
		return shmNotOpen()
	}
	n, err := shm.pool.GC()
	if err != nil {
		return shmResult(err)
	}
	return C.int(n)
}
