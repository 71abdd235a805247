// Functions on requests. A request of ours is known by its handle; arrays that
// hold one at least go to Go, which asks the host about the others.

#include "shim.h"
#include "requests.h"
#include "fast.h"
#include "_cgo_export.h"

static inline int ours(const int *request)
{
	return cmpi_active() && cmpi_ours(*request);
}

static inline int any_ours(int n, const int *requests)
{
	if (cmpi_active())
		for (int i = 0; i < n; i++)
			if (cmpi_ours(requests[i]))
				return 1;
	return 0;
}

int MPI_Wait(int *request, void *status)
{
	if (!ours(request))
		return BLOCKING(NATIVE(Wait)(request, status));
	if (cmpi_fast_wait(1, request, status))
		return MPICH_SUCCESS;
	return OURS_REQUESTS(Wait, goWait(request, (W)status));
}
PROFILED(Wait);

int MPI_Test(int *request, int *flag, void *status)
{
	if (!ours(request))
		return POLLING(NATIVE(Test)(request, flag, status));
	return OURS_REQUESTS(Test, goTest(request, flag, (W)status));
}
PROFILED(Test);

int MPI_Waitall(int n, int *requests, void *statuses)
{
	if (!any_ours(n, requests))
		return BLOCKING(NATIVE(Waitall)(n, requests, statuses));
	if (cmpi_fast_wait(n, requests, statuses))
		return MPICH_SUCCESS;
	return OURS_REQUESTS(Waitall, goWaitall(n, requests, NULL, (W)statuses));
}
PROFILED(Waitall);

int MPI_Testall(int n, int *requests, int *flag, void *statuses)
{
	if (!any_ours(n, requests))
		return POLLING(NATIVE(Testall)(n, requests, flag, statuses));
	return OURS_REQUESTS(Testall, goWaitall(n, requests, flag, (W)statuses));
}
PROFILED(Testall);

int MPI_Waitany(int n, int *requests, int *index, void *status)
{
	if (!any_ours(n, requests))
		return BLOCKING(NATIVE(Waitany)(n, requests, index, status));
	return OURS_REQUESTS(Waitany, goWaitany(n, requests, index, NULL, (W)status));
}
PROFILED(Waitany);

int MPI_Testany(int n, int *requests, int *index, int *flag, void *status)
{
	if (!any_ours(n, requests))
		return POLLING(NATIVE(Testany)(n, requests, index, flag, status));
	return OURS_REQUESTS(Testany, goWaitany(n, requests, index, flag, (W)status));
}
PROFILED(Testany);

int MPI_Waitsome(int n, int *requests, int *outcount, int *indices, void *statuses)
{
	if (!any_ours(n, requests))
		return BLOCKING(NATIVE(Waitsome)(n, requests, outcount, indices, statuses));
	return OURS_REQUESTS(Waitsome, goWaitsome(n, requests, outcount, indices, (W)statuses, 1));
}
PROFILED(Waitsome);

int MPI_Testsome(int n, int *requests, int *outcount, int *indices, void *statuses)
{
	if (!any_ours(n, requests))
		return POLLING(NATIVE(Testsome)(n, requests, outcount, indices, statuses));
	return OURS_REQUESTS(Testsome, goWaitsome(n, requests, outcount, indices, (W)statuses, 0));
}
PROFILED(Testsome);

int MPI_Request_free(int *request)
{
	if (!ours(request))
		return NATIVE(Request_free)(request);
	return OURS_REQUESTS(Request_free, goRequestFree(request));
}
PROFILED(Request_free);

int MPI_Cancel(int *request)
{
	if (!ours(request))
		return NATIVE(Cancel)(request);
	return OURS_REQUESTS(Cancel, goCancel(*request));
}
PROFILED(Cancel);

int MPI_Request_get_status(W request, int *flag, void *status)
{
	if (!cmpi_active() || !cmpi_ours((int32_t)request))
		return POLLING(NATIVE(Request_get_status)(request, flag, status));
	return OURS_REQUESTS(Request_get_status, goRequestGetStatus((int)request, flag, (W)status));
}
PROFILED(Request_get_status);

int MPI_Start(int *request)
{
	if (!ours(request))
		return ASYNC(NATIVE(Start)(request));
	return OURS_REQUESTS(Start, goStart(1, request));
}
PROFILED(Start);

int MPI_Startall(int n, int *requests)
{
	if (!any_ours(n, requests))
		return ASYNC(NATIVE(Startall)(n, requests));
	return OURS_REQUESTS(Startall, goStart(n, requests));
}
PROFILED(Startall);

// ---- the host's share of an array --------------------------------------------------

// Go can't hold MPI_STATUS_IGNORE in a pointer and says NULL.
static struct mpich_status *wanted(struct mpich_status *statuses)
{
	return statuses == NULL ? MPICH_STATUS_IGNORE : statuses;
}

int cmpi_host_test(int *request, int *flag)
{
	return cmpi_host.Test(request, flag, MPICH_STATUS_IGNORE);
}

int cmpi_host_start(int *request)
{
	return ASYNC(cmpi_host.Start(request));
}

int cmpi_host_waitall(int n, int *requests, struct mpich_status *statuses)
{
	return BLOCKING(cmpi_host.Waitall(n, requests, wanted(statuses)));
}

int cmpi_host_testall(int n, int *requests, int *flag, struct mpich_status *statuses)
{
	return cmpi_host.Testall(n, requests, flag, wanted(statuses));
}

int cmpi_host_testany(int n, int *requests, int *index, int *flag, W status)
{
	return cmpi_host.Testany(n, requests, index, flag, (struct mpich_status *)status);
}

int cmpi_host_testsome(int n, int *requests, int *outcount, int *indices, struct mpich_status *statuses)
{
	return cmpi_host.Testsome(n, requests, outcount, indices, wanted(statuses));
}
