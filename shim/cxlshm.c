// The C interface of c/include/cxl_shm.h. Go does the work (cxlshm.go); this
// file makes sure that what the library exports is what the header declares.

#include "../c/include/cxl_shm.h"
#include "_cgo_export.h"

const char *cxl_shm_strerror(int code)
{
	static const char *const texts[] = {
		[-CXL_SHM_OK] = "success",
		[-CXL_SHM_E_ARGUMENT] = "invalid argument",
		[-CXL_SHM_E_STATE] = "not initialized, or initialized already",
		[-CXL_SHM_E_HANDLE] = "no such handle",
		[-CXL_SHM_E_SETTING] = "invalid setting",
		[-CXL_SHM_E_NOT_POOL] = "not a pool",
		[-CXL_SHM_E_VERSION] = "pool of another layout version",
		[-CXL_SHM_E_TRUNCATED] = "pool shorter than it was made",
		[-CXL_SHM_E_TOO_SMALL] = "too small for a pool",
		[-CXL_SHM_E_EXISTS] = "an object of this name exists",
		[-CXL_SHM_E_NOT_FOUND] = "no object of this name",
		[-CXL_SHM_E_NAME] = "name empty or too long",
		[-CXL_SHM_E_SIZE] = "size zero or negative",
		[-CXL_SHM_E_FULL] = "pool full",
		[-CXL_SHM_E_PERMISSION] = "permission denied",
		[-CXL_SHM_E_CORRUPT] = "pool metadata corrupt",
		[-CXL_SHM_E_TIMEOUT] = "pool lock not released in time",
		[-CXL_SHM_E_NO_SPACE] = "filesystem of the pool full",
		[-CXL_SHM_E_HOSTS] = "too many hosts",
		[-CXL_SHM_E_MISSING] = "no such pool",
		[-CXL_SHM_E_UNUSABLE] = "can't be a pool",
	};
	return code <= 0 && code > -(int)(sizeof texts / sizeof *texts) ? texts[-code] : "unknown error code";
}

const char *cxl_shm_last_error(void)
{
	return goShmLastError();
}

int cxl_shm_init(void)
{
	return goShmInit(NULL, 0);
}

int cxl_shm_init_at(const char *path, uint64_t size)
{
	return goShmInit((char *)path, size);
}

int cxl_shm_finalize(void)
{
	return goShmFinalize();
}

int cxl_shm_create(const char *name, size_t size, cxl_shm_handle *handle)
{
	return goShmCreate((char *)name, size, handle);
}

int cxl_shm_open(const char *name, cxl_shm_handle *handle)
{
	return goShmOpen((char *)name, handle);
}

int cxl_shm_destroy(cxl_shm_handle *handle)
{
	return goShmClose(handle, 1);
}

int cxl_shm_close(cxl_shm_handle *handle)
{
	return goShmClose(handle, 0);
}

void *cxl_shm_addr(cxl_shm_handle handle)
{
	return goShmAddr(handle);
}

size_t cxl_shm_size(cxl_shm_handle handle)
{
	return goShmSize(handle);
}

uint64_t cxl_shm_offset(cxl_shm_handle handle)
{
	return goShmOffset(handle);
}

int cxl_shm_flush(cxl_shm_handle handle, size_t off, size_t len)
{
	return goShmSync(handle, off, len, 1);
}

int cxl_shm_invalidate(cxl_shm_handle handle, size_t off, size_t len)
{
	return goShmSync(handle, off, len, 0);
}

int cxl_shm_collect(void)
{
	return goShmCollect();
}
