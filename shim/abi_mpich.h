// The MPICH ABI (MPICH 3.1 and later and what is compatible with it: Intel MPI,
// MVAPICH, Cray MPICH): the numbers that a program compiled against its mpi.h
// has burnt in. This file and abi_mpich.go are the only places that know them.
//
// Handles are 32-bit integers:
//
//	31 30 | 29..26 | 25..0
//	class | kind   | index (builtin, direct) or block << 12 | index (indirect)
//
// class 0 = none (the NULL handles), 1 builtin, 2 direct, 3 indirect;
// kind 1 communicator, 3 datatype, b request and message.
// MPICH makes no handle of class 0 but the NULL ones, so the requests and
// messages between 0x2c000001 and 0x2fffffff are ours.
#ifndef ABI_MPICH_H
#define ABI_MPICH_H

#include <stdint.h>

#define MPICH_COMM_NULL 0x04000000
#define MPICH_COMM_WORLD 0x44000000
#define MPICH_COMM_SELF 0x44000001
#define MPICH_GROUP_NULL 0x08000000
#define MPICH_DATATYPE_NULL 0x0c000000
#define MPICH_BYTE 0x4c00010d
#define MPICH_INT 0x4c000405
#define MPICH_KEYVAL_INVALID 0x24000000
#define MPICH_REQUEST_NULL 0x2c000000
#define MPICH_MESSAGE_NULL 0x2c000000
#define MPICH_MESSAGE_NO_PROC 0x6c000000
#define MPICH_ERRHANDLER_NULL 0x14000000
#define MPICH_ERRORS_ARE_FATAL 0x54000000
#define MPICH_ERRORS_RETURN 0x54000001
#define MPICH_ERRORS_ABORT 0x54000003

#define MPICH_INFO_NULL 0x1c000000

// Predefined attributes of windows, as C numbers them; Fortran adds one.
#define MPICH_WIN_BASE 0x66000001
#define MPICH_WIN_SIZE 0x66000003
#define MPICH_WIN_DISP_UNIT 0x66000005
#define MPICH_WIN_CREATE_FLAVOR 0x66000007
#define MPICH_WIN_MODEL 0x66000009
#define MPICH_WIN_FLAVOR_CREATE 1
#define MPICH_WIN_FLAVOR_ALLOCATE 2
#define MPICH_WIN_FLAVOR_SHARED 4
#define MPICH_WIN_SEPARATE 1
#define MPICH_WIN_UNIFIED 2

#define MPICH_LOCK_EXCLUSIVE 234
#define MPICH_LOCK_SHARED 235
#define MPICH_MODE_NOCHECK 1024
#define MPICH_MODE_NOSTORE 2048
#define MPICH_MODE_NOPUT 4096
#define MPICH_MODE_NOPRECEDE 8192
#define MPICH_MODE_NOSUCCEED 16384

// Predefined operations.
#define MPICH_MAX 0x58000001
#define MPICH_MIN 0x58000002
#define MPICH_SUM 0x58000003
#define MPICH_PROD 0x58000004
#define MPICH_LAND 0x58000005
#define MPICH_BAND 0x58000006
#define MPICH_LOR 0x58000007
#define MPICH_BOR 0x58000008
#define MPICH_LXOR 0x58000009
#define MPICH_BXOR 0x5800000a
#define MPICH_MINLOC 0x5800000b
#define MPICH_MAXLOC 0x5800000c
#define MPICH_REPLACE 0x5800000d
#define MPICH_NO_OP 0x5800000e

#define MPICH_ANY_SOURCE (-2)
#define MPICH_ANY_TAG (-1)
#define MPICH_PROC_NULL (-1)
#define MPICH_ROOT (-3)
#define MPICH_UNDEFINED (-32766)
#define MPICH_THREAD_MULTIPLE 3
#define MPICH_COMM_TYPE_SHARED 1
#define MPICH_MAX_ERROR_STRING 512
#define MPICH_BSEND_OVERHEAD 96

#define MPICH_SUCCESS 0
#define MPICH_ERR_BUFFER 1
#define MPICH_ERR_COUNT 2
#define MPICH_ERR_TYPE 3
#define MPICH_ERR_TAG 4
#define MPICH_ERR_RANK 6
#define MPICH_ERR_TRUNCATE 14
#define MPICH_ERR_OTHER 15
#define MPICH_ERR_INTERN 16
#define MPICH_ERR_IN_STATUS 17
#define MPICH_ERR_PENDING 18
#define MPICH_ERR_REQUEST 19
#define MPICH_ERR_NO_MEM 34
#define MPICH_ERR_GROUP 8
#define MPICH_ERR_OP 9
#define MPICH_ERR_ARG 12
#define MPICH_ERR_LOCKTYPE 47
#define MPICH_ERR_RMA_SYNC 50
#define MPICH_ERR_DISP 52
#define MPICH_ERR_ASSERT 53
#define MPICH_ERR_RMA_RANGE 55

// MPI_Status. The count is in bytes: count_lo | (count_hi_and_cancelled >> 1) << 32;
// the lowest bit of count_hi_and_cancelled says "cancelled".
struct mpich_status {
	uint32_t count_lo;
	uint32_t count_hi_and_cancelled;
	int32_t source;
	int32_t tag;
	int32_t error;
};

// MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE.
#define MPICH_STATUS_IGNORE ((struct mpich_status *)1)

_Static_assert(sizeof(struct mpich_status) == 20, "MPI_Status has 20 bytes");

#endif
