// Point-to-point functions: those on a communicator of ours go to Go, the
// others to the host. Each comes with its large-count twin (MPI-4's _c), which
// differs in the type of the count alone.

#include "shim.h"
#include "fast.h"
#include "_cgo_export.h"

enum { STANDARD, SYNCHRONOUS, READY, BUFFERED }; // as in p2p.go

// Which modes the fast path can send: those that end with the message in the
// ring.
enum { FAST_STANDARD = 1, FAST_SYNCHRONOUS = 0, FAST_READY = 1, FAST_BUFFERED = 0 };

// Which of the receives that give a request it can note.
enum { FAST_Irecv = 1, FAST_Irecv_c = 1, FAST_Recv_init = 0, FAST_Recv_init_c = 0 };

#define BOTH(DEFINE, name, mode) \
	DEFINE(name, int, mode)      \
	DEFINE(name##_c, W, mode)

// What the fast path leaves is in a function of its own, so that the fast path
// need not save registers for it.
#define SEND(name, count_t, mode)                                                                       \
	static int send_##name(const void *buf, count_t count, W type, int dest, int tag, W comm)           \
		__attribute__((noinline));                                                                      \
	int MPI_##name(const void *buf, count_t count, W type, int dest, int tag, W comm)                   \
	{                                                                                                   \
		struct cmpi_comm *c = cmpi_owned(comm);                                                         \
		if (FAST_##mode && c != NULL && cmpi_fast_send_line(c, buf, count, type, dest, tag))            \
			return MPICH_SUCCESS;                                                                       \
		return send_##name(buf, count, type, dest, tag, comm);                                          \
	}                                                                                                   \
	PROFILED(name);                                                                                     \
	static int send_##name(const void *buf, count_t count, W type, int dest, int tag, W comm)           \
	{                                                                                                   \
		struct cmpi_comm *c = cmpi_owned(comm);                                                         \
		if (c == NULL)                                                                                  \
			return BLOCKING(NATIVE(name)(buf, count, type, dest, tag, comm));                           \
		if (FAST_##mode && (cmpi_fast_send(c, buf, count, type, dest, tag) ||                           \
		                    (CMPI_COUNTING() && cmpi_counted_send(c, buf, count, type, dest, tag))))    \
			return MPICH_SUCCESS;                                                                       \
		return OURS(name, c->handle, goSend(c, buffer(buf), count, (int)type, dest, tag, mode));        \
	}

BOTH(SEND, Send, STANDARD)
BOTH(SEND, Ssend, SYNCHRONOUS)
BOTH(SEND, Rsend, READY)
BOTH(SEND, Bsend, BUFFERED)

#define ISEND(name, count_t, mode)                                                                          \
	static int send_##name(const void *buf, count_t count, W type, int dest, int tag, W comm, int *request) \
		__attribute__((noinline));                                                                          \
	int MPI_##name(const void *buf, count_t count, W type, int dest, int tag, W comm, int *request)         \
	{                                                                                                       \
		struct cmpi_comm *c = cmpi_owned(comm);                                                             \
		if (FAST_##mode && c != NULL && cmpi_fast_send_line(c, buf, count, type, dest, tag)) {              \
			*request = CMPI_FIRST_HANDLE; /* that of all sends that are complete at once */                 \
			return MPICH_SUCCESS;                                                                           \
		}                                                                                                   \
		return send_##name(buf, count, type, dest, tag, comm, request);                                     \
	}                                                                                                       \
	PROFILED(name);                                                                                         \
	static int send_##name(const void *buf, count_t count, W type, int dest, int tag, W comm, int *request) \
	{                                                                                                       \
		struct cmpi_comm *c = cmpi_owned(comm);                                                             \
		if (c == NULL)                                                                                      \
			return ASYNC(NATIVE(name)(buf, count, type, dest, tag, comm, request));                         \
		if (FAST_##mode && (cmpi_fast_send(c, buf, count, type, dest, tag) ||                               \
		                    (CMPI_COUNTING() && cmpi_counted_send(c, buf, count, type, dest, tag)))) {      \
			*request = CMPI_FIRST_HANDLE;                                                                   \
			return MPICH_SUCCESS;                                                                           \
		}                                                                                                   \
		return OURS(name, c->handle, goIsend(c, buffer(buf), count, (int)type, dest, tag, mode, request));  \
	}

BOTH(ISEND, Isend, STANDARD)
BOTH(ISEND, Issend, SYNCHRONOUS)
BOTH(ISEND, Irsend, READY)
BOTH(ISEND, Ibsend, BUFFERED)

#define SEND_INIT(name, count_t, mode)                                                                        \
	int MPI_##name(const void *buf, count_t count, W type, int dest, int tag, W comm, int *request)           \
	{                                                                                                         \
		struct cmpi_comm *c = cmpi_owned(comm);                                                               \
		if (c == NULL)                                                                                        \
			return ASYNC(NATIVE(name)(buf, count, type, dest, tag, comm, request));                           \
		return OURS(name, c->handle, goSendInit(c, buffer(buf), count, (int)type, dest, tag, mode, request)); \
	}                                                                                                         \
	PROFILED(name);

BOTH(SEND_INIT, Send_init, STANDARD)
BOTH(SEND_INIT, Ssend_init, SYNCHRONOUS)
BOTH(SEND_INIT, Rsend_init, READY)
BOTH(SEND_INIT, Bsend_init, BUFFERED)

#define RECV(name, count_t, unused)                                                                         \
	static int receive_##name(void *buf, count_t count, W type, int source, int tag, W comm, void *status)  \
		__attribute__((noinline));                                                                          \
	int MPI_##name(void *buf, count_t count, W type, int source, int tag, W comm, void *status)             \
	{                                                                                                       \
		struct cmpi_comm *c = cmpi_owned(comm);                                                             \
		if (c != NULL && cmpi_fast_recv_line(c, buf, count, type, source, tag, status))                     \
			return MPICH_SUCCESS;                                                                           \
		return receive_##name(buf, count, type, source, tag, comm, status);                                 \
	}                                                                                                       \
	PROFILED(name);                                                                                         \
	static int receive_##name(void *buf, count_t count, W type, int source, int tag, W comm, void *status)  \
	{                                                                                                       \
		struct cmpi_comm *c = cmpi_owned(comm);                                                             \
		if (c == NULL)                                                                                      \
			return BLOCKING(NATIVE(name)(buf, count, type, source, tag, comm, status));                     \
		if (cmpi_fast_recv(c, buf, count, type, source, tag, status) ||                                     \
		    (CMPI_COUNTING() && cmpi_counted_recv(c, buf, count, type, source, tag, status)))               \
			return MPICH_SUCCESS;                                                                           \
		return OURS(name, c->handle, goRecv(c, buffer(buf), count, (int)type, source, tag, (W)status));     \
	}

BOTH(RECV, Recv, )

#define IRECV(name, count_t, go)                                                                  \
	int MPI_##name(void *buf, count_t count, W type, int source, int tag, W comm, int *request)   \
	{                                                                                             \
		struct cmpi_comm *c = cmpi_owned(comm);                                                   \
		if (c == NULL)                                                                            \
			return ASYNC(NATIVE(name)(buf, count, type, source, tag, comm, request));             \
		if (FAST_##name && cmpi_fast_irecv(c, buf, count, type, source, tag, request))            \
			return MPICH_SUCCESS;                                                                 \
		return OURS(name, c->handle, go(c, buffer(buf), count, (int)type, source, tag, request)); \
	}                                                                                             \
	PROFILED(name);

BOTH(IRECV, Irecv, goIrecv)
BOTH(IRECV, Recv_init, goRecvInit)

#define SENDRECV(name, count_t, unused)                                                                      \
	int MPI_##name(const void *sbuf, count_t scount, W stype, int dest, int stag,                            \
	               void *rbuf, count_t rcount, W rtype, int source, int rtag, W comm, void *status)          \
	{                                                                                                        \
		struct cmpi_comm *c = cmpi_owned(comm);                                                              \
		if (c == NULL)                                                                                       \
			return BLOCKING(NATIVE(name)(sbuf, scount, stype, dest, stag,                                    \
			                             rbuf, rcount, rtype, source, rtag, comm, status));                  \
		return OURS(name, c->handle, goSendrecv(c, buffer(sbuf), scount, (int)stype, dest, stag,             \
		                                        buffer(rbuf), rcount, (int)rtype, source, rtag, (W)status)); \
	}                                                                                                        \
	PROFILED(name);

BOTH(SENDRECV, Sendrecv, )

#define ISENDRECV(name, count_t, unused)                                                                    \
	int MPI_##name(const void *sbuf, count_t scount, W stype, int dest, int stag,                           \
	               void *rbuf, count_t rcount, W rtype, int source, int rtag, W comm, int *request)         \
	{                                                                                                       \
		struct cmpi_comm *c = cmpi_owned(comm);                                                             \
		if (c == NULL)                                                                                      \
			return ASYNC(NATIVE(name)(sbuf, scount, stype, dest, stag,                                      \
			                    rbuf, rcount, rtype, source, rtag, comm, request));                         \
		return OURS(name, c->handle, goIsendrecv(c, buffer(sbuf), scount, (int)stype, dest, stag,           \
		                                         buffer(rbuf), rcount, (int)rtype, source, rtag, request)); \
	}                                                                                                       \
	PROFILED(name);

BOTH(ISENDRECV, Isendrecv, )

#define SENDRECV_REPLACE(name, count_t, unused)                                                      \
	int MPI_##name(void *buf, count_t count, W type, int dest, int stag, int source, int rtag,       \
	               W comm, void *status)                                                             \
	{                                                                                                \
		struct cmpi_comm *c = cmpi_owned(comm);                                                      \
		if (c == NULL)                                                                               \
			return BLOCKING(NATIVE(name)(buf, count, type, dest, stag, source, rtag, comm, status)); \
		return OURS(name, c->handle, goSendrecvReplace(c, buffer(buf), count, (int)type, dest, stag, \
		                                               source, rtag, (W)status));                    \
	}                                                                                                \
	PROFILED(name);

BOTH(SENDRECV_REPLACE, Sendrecv_replace, )

#define ISENDRECV_REPLACE(name, count_t, unused)                                                      \
	int MPI_##name(void *buf, count_t count, W type, int dest, int stag, int source, int rtag,        \
	               W comm, int *request)                                                              \
	{                                                                                                 \
		struct cmpi_comm *c = cmpi_owned(comm);                                                       \
		if (c == NULL)                                                                                \
			return ASYNC(NATIVE(name)(buf, count, type, dest, stag, source, rtag, comm, request));    \
		return OURS(name, c->handle, goIsendrecvReplace(c, buffer(buf), count, (int)type, dest, stag, \
		                                                source, rtag, request));                      \
	}                                                                                                 \
	PROFILED(name);

BOTH(ISENDRECV_REPLACE, Isendrecv_replace, )

// ---- probing ---------------------------------------------------------------------

int MPI_Probe(int source, int tag, W comm, void *status)
{
	struct cmpi_comm *c = cmpi_owned(comm);
	if (c == NULL)
		return BLOCKING(NATIVE(Probe)(source, tag, comm, status));
	return OURS(Probe, c->handle, goProbe(c, source, tag, NULL, (W)status));
}
PROFILED(Probe);

int MPI_Iprobe(int source, int tag, W comm, int *flag, void *status)
{
	struct cmpi_comm *c = cmpi_owned(comm);
	if (c == NULL)
		return POLLING(NATIVE(Iprobe)(source, tag, comm, flag, status));
	return OURS(Iprobe, c->handle, goProbe(c, source, tag, flag, (W)status));
}
PROFILED(Iprobe);

int MPI_Mprobe(int source, int tag, W comm, int *message, void *status)
{
	struct cmpi_comm *c = cmpi_owned(comm);
	if (c == NULL)
		return BLOCKING(NATIVE(Mprobe)(source, tag, comm, message, status));
	return OURS(Mprobe, c->handle, goMprobe(c, source, tag, NULL, message, (W)status));
}
PROFILED(Mprobe);

int MPI_Improbe(int source, int tag, W comm, int *flag, int *message, void *status)
{
	struct cmpi_comm *c = cmpi_owned(comm);
	if (c == NULL)
		return POLLING(NATIVE(Improbe)(source, tag, comm, flag, message, status));
	return OURS(Improbe, c->handle, goMprobe(c, source, tag, flag, message, (W)status));
}
PROFILED(Improbe);

// A matched message knows its communicator, so these go by the message.

#define MRECV(name, count_t, unused)                                                            \
	int MPI_##name(void *buf, count_t count, W type, int *message, void *status)                \
	{                                                                                           \
		if (!cmpi_active() || !cmpi_ours(*message))                                             \
			return BLOCKING(NATIVE(name)(buf, count, type, message, status));                   \
		return OURS_REQUESTS(name, goMrecv(buffer(buf), count, (int)type, message, (W)status)); \
	}                                                                                           \
	PROFILED(name);

BOTH(MRECV, Mrecv, )

#define IMRECV(name, count_t, unused)                                                          \
	int MPI_##name(void *buf, count_t count, W type, int *message, int *request)               \
	{                                                                                          \
		if (!cmpi_active() || !cmpi_ours(*message))                                            \
			return ASYNC(NATIVE(name)(buf, count, type, message, request));                    \
		return OURS_REQUESTS(name, goImrecv(buffer(buf), count, (int)type, message, request)); \
	}                                                                                          \
	PROFILED(name);

BOTH(IMRECV, Imrecv, )

// ---- the buffer of buffered sends --------------------------------------------------

// The host gets the program's buffer for the communicators that it carries; our
// own buffered messages are copied elsewhere, and only their sizes are held
// against the buffer's.

#define BUFFER_ATTACH(name, count_t, unused)     \
	int MPI_##name(void *buf, count_t size)      \
	{                                            \
		int rc = NATIVE(name)(buf, size);        \
		if (rc == MPICH_SUCCESS && cmpi_active()) \
			goBufferAttach(size);                \
		return rc;                               \
	}                                            \
	PROFILED(name);

BOTH(BUFFER_ATTACH, Buffer_attach, )

#define BUFFER_DETACH(name, count_t, unused)      \
	int MPI_##name(void *buf, count_t *size)      \
	{                                             \
		if (cmpi_active()) {                      \
			int32_t depth = cmpi_own_begin();     \
			goBufferDetach();                     \
			cmpi_own_end(depth);                  \
		}                                         \
		return BLOCKING(NATIVE(name)(buf, size)); \
	}                                             \
	PROFILED(name);

BOTH(BUFFER_DETACH, Buffer_detach, )
