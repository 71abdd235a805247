/*
 * cxl_shm.h - named objects in a shared pool.
 *
 * A pool is a devdax device (CXL memory that several hosts see) or a file that
 * several processes can map. Any process of any host creates objects in it by
 * name, opens and destroys them, at any time: shm_open and shm_unlink for memory
 * that no single kernel manages. The six calls of the cMPI paper's Table 2, and
 * the few more that a program needs to use an object. Link with -lcmpi
 * (pkg-config cmpi).
 *
 *     cxl_shm_handle h;
 *     if (cxl_shm_init() != CXL_SHM_OK ||
 *         cxl_shm_create("flags", 4096, &h) != CXL_SHM_OK) {
 *         fprintf(stderr, "%s\n", cxl_shm_last_error());
 *         return 1;
 *     }
 *     uint64_t *flag = cxl_shm_addr(h);
 *     *flag = 1;
 *     cxl_shm_flush(h, 0, sizeof *flag);
 *
 * c/examples/cxl_shm_example.c is a whole program.
 *
 * Every function that returns int returns CXL_SHM_OK or a negative CXL_SHM_E
 * code, and leaves its outputs alone when it fails. All of them may be called
 * from several threads at once, except cxl_shm_finalize, during which no other
 * may run.
 *
 * Visibility. Between processes of one host, loads and stores suffice. Between
 * hosts that share no cache, a write is visible to another host after
 * cxl_shm_flush of its bytes, and a read sees it after cxl_shm_invalidate of
 * them. Caches work in lines of 64 bytes: two hosts must not write to one line,
 * or the one that is written back last wins. Atomic instructions work within a
 * host only.
 */
#ifndef CXL_SHM_H
#define CXL_SHM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open object: a positive number, valid in the process that got it. */
typedef int32_t cxl_shm_handle;

#define CXL_SHM_NULL ((cxl_shm_handle)0) /* no object */
#define CXL_SHM_MAX_NAME 63              /* bytes of a name, without the final zero */
#define CXL_SHM_LINE 64                  /* bytes of a cache line */

enum {
	CXL_SHM_OK = 0,
	CXL_SHM_E_ARGUMENT = -1,    /* a null pointer, or a range outside the object */
	CXL_SHM_E_STATE = -2,       /* not initialized, or initialized already */
	CXL_SHM_E_HANDLE = -3,      /* no such handle */
	CXL_SHM_E_SETTING = -4,     /* an environment variable makes no sense */
	CXL_SHM_E_NOT_POOL = -5,    /* the file or device is not a pool */
	CXL_SHM_E_VERSION = -6,     /* the pool has another layout version */
	CXL_SHM_E_TRUNCATED = -7,   /* the pool is shorter than it was made */
	CXL_SHM_E_TOO_SMALL = -8,   /* too small for a pool */
	CXL_SHM_E_EXISTS = -9,      /* an object of this name exists */
	CXL_SHM_E_NOT_FOUND = -10,  /* no object of this name */
	CXL_SHM_E_NAME = -11,       /* the name is empty or too long */
	CXL_SHM_E_SIZE = -12,       /* the size is zero or negative */
	CXL_SHM_E_FULL = -13,       /* the pool has no room for the object */
	CXL_SHM_E_PERMISSION = -14, /* no permission to read and write the pool */
	CXL_SHM_E_CORRUPT = -15,    /* the pool's metadata makes no sense */
	CXL_SHM_E_TIMEOUT = -16,    /* another host, dead perhaps, holds the pool's lock */
	CXL_SHM_E_NO_SPACE = -17,   /* the filesystem of the pool is full */
	CXL_SHM_E_HOSTS = -18,      /* more hosts than a pool has entries for (64) */
	CXL_SHM_E_MISSING = -19,    /* there is nothing at that path */
	CXL_SHM_E_UNUSABLE = -20    /* it can't be a pool: neither file nor devdax device, or no mmap */
};

/* What a code means, in English. Never NULL. */
const char *cxl_shm_strerror(int code);

/*
 * What went wrong in the last call that failed: one
 * line with names and a remedy; "" before the first failure. Valid until the
 * next call of this library.
 */
const char *cxl_shm_last_error(void);

/*
 * Opens and maps the pool that the environment names: CMPI_POOL, and for a file
 * that does not exist yet CMPI_POOL_SIZE; CMPI_COHERENCE says how writes become
 * visible. An empty or missing file becomes a pool (mode 0600); so does a blank
 * device. Nothing else is ever formatted. Takes well below a millisecond.
 */
int cxl_shm_init(void);

/* The same for the pool at path; size in bytes counts if the file is made, 0 is
 * the default of 1 GiB. path NULL is CMPI_POOL. */
int cxl_shm_init_at(const char *path, uint64_t size);

/*
 * Closes all handles and unmaps the pool; addresses in it become invalid. Objects
 * stay until they are destroyed. A later cxl_shm_init is allowed.
 */
int cxl_shm_finalize(void);

/*
 * Makes an object of size bytes, all zero, at a multiple of 4096 bytes. Of
 * several processes that create a name at once, on any hosts, one succeeds; the
 * others get CXL_SHM_E_EXISTS and may open it. Space is taken in units of 4096
 * bytes.
 */
int cxl_shm_create(const char *name, size_t size, cxl_shm_handle *handle);

/* Opens the object of that name. */
int cxl_shm_open(const char *name, cxl_shm_handle *handle);

/*
 * Removes the object from the pool, and closes *handle, which becomes
 * CXL_SHM_NULL even if another process removed the object first
 * (CXL_SHM_E_NOT_FOUND). Its space may be another object's at once: every
 * process must have closed it, or never touch it again.
 */
int cxl_shm_destroy(cxl_shm_handle *handle);

/* Gives up the handle, which becomes CXL_SHM_NULL. The object stays. */
int cxl_shm_close(cxl_shm_handle *handle);

/* Where the object starts in this process; NULL for no such handle. */
void *cxl_shm_addr(cxl_shm_handle handle);

/* The object's size as it was created, in bytes; 0 for no such handle. */
size_t cxl_shm_size(cxl_shm_handle handle);

/* The object's distance from the start of the pool, the same in every process;
 * 0 for no such handle. */
uint64_t cxl_shm_offset(cxl_shm_handle handle);

/*
 * Makes what this process wrote to len bytes at offset off of the object
 * visible to every host; returns when it is. len 0 does nothing.
 */
int cxl_shm_flush(cxl_shm_handle handle, size_t off, size_t len);

/*
 * Drops what this host's caches hold of len bytes at offset off, so that the
 * next loads see what other hosts have flushed. What this host wrote there is
 * written back first.
 */
int cxl_shm_invalidate(cxl_shm_handle handle, size_t off, size_t len);

/*
 * Destroys the objects whose creators were processes of this host that have
 * ended; returns their number, or a negative code.
 */
int cxl_shm_collect(void);

#ifdef __cplusplus
}
#endif

#endif /* CXL_SHM_H */
