// The C interface of c/include/cmpi.h. Go does the work (cabi.go); this file
// makes sure that what the library exports is what the header declares. Windows
// are in cabi_win.c.

#include "../c/include/cmpi.h"
#include "_cgo_export.h"

const char *cmpi_strerror(int code)
{
	static const char *const texts[] = {
		[CMPI_OK] = "success",
		[CMPI_ERR_ARGUMENT] = "invalid argument",
		[CMPI_ERR_STATE] = "not inside a job",
		[CMPI_ERR_SETTING] = "invalid setting",
		[CMPI_ERR_POOL] = "the pool can't be used",
		[CMPI_ERR_TIMEOUT] = "the other ranks did not come",
		[CMPI_ERR_TRUNCATED] = "message longer than the buffer",
		[CMPI_ERR_MEMORY] = "out of memory",
		[CMPI_ERR_REQUEST] = "no such request",
		[CMPI_ERR_CORRUPT] = "the peer's part of the pool makes no sense",
		[CMPI_ERR_UNSUPPORTED] = "not supported in this release",
		[CMPI_ERR_SYNC] = "no access to the window is open that allows the call",
		[CMPI_ERR_RANGE] = "not inside the rank's part of the window",
		[CMPI_ERR_LOST] = "a rank that was waited for has died",
	};
	return code >= 0 && code < (int)(sizeof texts / sizeof *texts) ? texts[code] : "unknown error code";
}

const char *cmpi_last_error(void)
{
	return goLastError();
}

int cmpi_init(int rank, int size, const char *pool, const char *job)
{
	return goPlainInit(rank, size, (char *)pool, (char *)job);
}

int cmpi_finalize(void)
{
	return goPlainFinalize();
}

int cmpi_rank(void)
{
	return goPlainRank();
}

int cmpi_size(void)
{
	return goPlainSize();
}

int cmpi_barrier(void)
{
	return goPlainBarrier();
}

int cmpi_isend(const void *buf, size_t n, int dest, int tag, cmpi_request *request)
{
	return goPlainIsend((void *)buf, n, dest, tag, request);
}

int cmpi_irecv(void *buf, size_t n, int source, int tag, cmpi_request *request)
{
	return goPlainIrecv(buf, n, source, tag, request);
}

int cmpi_wait(cmpi_request *request, cmpi_status *status)
{
	return goPlainWait(request, NULL, status);
}

int cmpi_test(cmpi_request *request, int *flag, cmpi_status *status)
{
	if (flag == NULL)
		return CMPI_ERR_ARGUMENT;
	return goPlainWait(request, flag, status);
}

int cmpi_send(const void *buf, size_t n, int dest, int tag)
{
	cmpi_request request = CMPI_REQUEST_NULL;
	int rc = cmpi_isend(buf, n, dest, tag, &request);
	return rc != CMPI_OK ? rc : cmpi_wait(&request, NULL);
}

int cmpi_recv(void *buf, size_t n, int source, int tag, cmpi_status *status)
{
	cmpi_request request = CMPI_REQUEST_NULL;
	int rc = cmpi_irecv(buf, n, source, tag, &request);
	return rc != CMPI_OK ? rc : cmpi_wait(&request, status);
}

int cmpi_iprobe(int source, int tag, int *flag, cmpi_status *status)
{
	if (flag == NULL)
		return CMPI_ERR_ARGUMENT;
	return goPlainProbe(source, tag, flag, status);
}

int cmpi_probe(int source, int tag, cmpi_status *status)
{
	return goPlainProbe(source, tag, NULL, status);
}
