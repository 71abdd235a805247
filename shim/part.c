// Partitioned communication (MPI-4.0 section 4.2). The count is an MPI_Count; there
// are no large-count twins.

#include "shim.h"
#include "_cgo_export.h"

#define PART_INIT(name, receive)                                                                            \
	int MPI_##name(void *buf, int partitions, W count, W type, int rank, int tag, W comm, W info,           \
	               int *request)                                                                            \
	{                                                                                                       \
		struct cmpi_comm *c = cmpi_owned(comm);                                                             \
		if (c == NULL)                                                                                      \
			return ASYNC(NATIVE(name)(buf, partitions, count, type, rank, tag, comm, info, request));       \
		return OURS(name, c->handle, goPartInit(c, buffer(buf), partitions, count, (int)type, rank, tag,    \
		                                        receive, request));                                         \
	}                                                                                                       \
	PROFILED(name);

PART_INIT(Psend_init, 0)
PART_INIT(Precv_init, 1)

int MPI_Pready(int partition, W request)
{
	if (!cmpi_active() || !cmpi_ours((int32_t)request))
		return ASYNC(NATIVE(Pready)(partition, request));
	return OURS_REQUESTS(Pready, goPready((int)request, partition, partition));
}
PROFILED(Pready);

int MPI_Pready_range(int low, int high, W request)
{
	if (!cmpi_active() || !cmpi_ours((int32_t)request))
		return ASYNC(NATIVE(Pready_range)(low, high, request));
	return OURS_REQUESTS(Pready_range, goPready((int)request, low, high));
}
PROFILED(Pready_range);

int MPI_Pready_list(int n, const int *partitions, W request)
{
	if (!cmpi_active() || !cmpi_ours((int32_t)request))
		return ASYNC(NATIVE(Pready_list)(n, partitions, request));
	return OURS_REQUESTS(Pready_list, goPreadyList((int)request, n, (int *)partitions));
}
PROFILED(Pready_list);

int MPI_Parrived(W request, int partition, int *flag)
{
	if (!cmpi_active() || !cmpi_ours((int32_t)request))
		return POLLING(NATIVE(Parrived)(request, partition, flag));
	return OURS_REQUESTS(Parrived, goParrived((int)request, partition, flag));
}
PROFILED(Parrived);
