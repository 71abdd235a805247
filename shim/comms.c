// Communicators: every constructor of the host's, after which all members of
// the new communicator agree on whether we carry it, and under which context id.
//
// 1. Each member translates the group (both groups of an intercommunicator)
//    to ranks of MPI_COMM_WORLD. If some member isn't in our world (spawned,
//    or joined by connect/accept), the communicator is the host's; all members
//    see the same.
// 2. If all members of a parent that we carry have called the constructor, in
//    the same order as MPI demands of collectives, the context id follows from
//    the parent's id and the number of its children: no message is needed.
//    (Disjoint parts of a split get the same id. They have no rank in common
//    that could mix them up.) Else the leader makes an id and tells the others
//    by the host's broadcast on the new communicator. The leader is rank 0; of
//    an intercommunicator, rank 0 of the side whose rank 0 comes first in
//    MPI_COMM_WORLD.
// 3. Each member makes its entry and ties it to the communicator by an
//    attribute. The attribute's delete callback removes the entry, whichever
//    way the communicator is freed.

#include <stdlib.h>

#include "shim.h"
#include "comms.h"
#include "_cgo_export.h"

static int keyval = MPICH_KEYVAL_INVALID;

static int comm_gone(int comm, int key, void *index, void *extra)
{
	(void)key, (void)extra;
	int32_t depth = cmpi_own_begin();
	if (comm == MPICH_COMM_SELF)
		goFinish(); // MPI_Finalize, after all callbacks of the program's own
	else
		goCommGone((int)(intptr_t)index);
	cmpi_own_end(depth);
	return MPICH_SUCCESS;
}

int cmpi_comms_init(void)
{
	return cmpi_host.Comm_create_keyval(NULL, comm_gone, &keyval, NULL);
}

int cmpi_comm_tie(int comm, int index)
{
	return cmpi_host.Comm_set_attr(comm, keyval, (void *)(intptr_t)index);
}

// ---- who is in it -------------------------------------------------------------------

// World ranks of a communicator's members, local group first.
struct members {
	int inter, rank, nlocal, nremote;
	int *world;
};

static int translate(int group, int n, int *world)
{
	int rc = MPICH_ERR_NO_MEM, world_group = MPICH_GROUP_NULL;
	int *ranks = malloc(n * sizeof *ranks);
	if (ranks != NULL) {
		for (int i = 0; i < n; i++)
			ranks[i] = i;
		rc = cmpi_host.Comm_group(MPICH_COMM_WORLD, &world_group);
		if (rc == MPICH_SUCCESS) {
			rc = cmpi_host.Group_translate_ranks(group, n, ranks, world_group, world);
			cmpi_host.Group_free(&world_group);
		}
	}
	free(ranks);
	return rc;
}

static int get_members(int comm, struct members *m)
{
	int rc, local = MPICH_GROUP_NULL, remote = MPICH_GROUP_NULL;

	*m = (struct members){0};
	if ((rc = cmpi_host.Comm_test_inter(comm, &m->inter)) ||
	    (rc = cmpi_host.Comm_rank(comm, &m->rank)) ||
	    (rc = cmpi_host.Comm_group(comm, &local)) ||
	    (rc = cmpi_host.Group_size(local, &m->nlocal)))
		goto out;
	if (m->inter && ((rc = cmpi_host.Comm_remote_group(comm, &remote)) ||
	                 (rc = cmpi_host.Group_size(remote, &m->nremote))))
		goto out;
	m->world = malloc((m->nlocal + m->nremote) * sizeof *m->world);
	if (m->world == NULL) {
		rc = MPICH_ERR_NO_MEM;
		goto out;
	}
	rc = translate(local, m->nlocal, m->world);
	if (rc == MPICH_SUCCESS && m->inter)
		rc = translate(remote, m->nremote, m->world + m->nlocal);
out:
	if (local != MPICH_GROUP_NULL)
		cmpi_host.Group_free(&local);
	if (remote != MPICH_GROUP_NULL)
		cmpi_host.Group_free(&remote);
	if (rc != MPICH_SUCCESS)
		free(m->world);
	return rc;
}

// ---- which context it has --------------------------------------------------------------

// All members get the leader's id. In an intercommunicator a broadcast goes from
// one member to the other side; so the leader tells the other side, and that
// side's rank 0 tells the leader's own.
static int agree(int comm, const struct members *m, uint64_t *context)
{
	int leading = !m->inter || m->world[0] < m->world[m->nlocal]; // this side has the leader
	int rc;

	if (leading && m->rank == 0)
		*context = goNextContext();
	if (!m->inter)
		return cmpi_host.Bcast(context, sizeof *context, MPICH_BYTE, 0, comm);
	for (int round = 0; round < 2; round++) {
		int sending = leading == (round == 0);
		int root = !sending ? 0 : m->rank == 0 ? MPICH_ROOT : MPICH_PROC_NULL;
		rc = cmpi_host.Bcast(context, sizeof *context, MPICH_BYTE, root, comm);
		if (rc != MPICH_SUCCESS)
			return rc;
	}
	return MPICH_SUCCESS;
}

// ---- adoption ----------------------------------------------------------------------------

int cmpi_adopt(int comm, uint64_t context)
{
	struct members m;
	int rc = get_members(comm, &m);
	if (rc != MPICH_SUCCESS)
		return rc;
	for (int i = 0; i < m.nlocal + m.nremote; i++) {
		if (m.world[i] == MPICH_UNDEFINED) {
			free(m.world);
			return MPICH_SUCCESS; // the host's
		}
	}
	if (context == 0)
		rc = BLOCKING(agree(comm, &m, &context));
	if (rc == MPICH_SUCCESS) {
		int32_t depth = cmpi_own_begin();
		rc = goAdopt(comm, context, m.rank, m.world, m.nlocal, m.inter ? m.world + m.nlocal : NULL, m.nremote);
		cmpi_own_end(depth);
	}
	free(m.world);
	return rc;
}

// What a constructor gave: nothing for a rank that is not a member. It may be
// ours already: MPI-IO inside the host makes communicators by functions that
// reach us, and one of the host's constructors returns such a one.
static int adopt_new(const char *fn, int rc, const int *newcomm, uint64_t context)
{
	if (rc != MPICH_SUCCESS || !cmpi_active() || *newcomm == MPICH_COMM_NULL || cmpi_owned(*newcomm) != NULL)
		return rc;
	rc = cmpi_adopt(*newcomm, context);
	return rc == MPICH_SUCCESS ? rc : cmpi_raise(fn, MPICH_COMM_WORLD, rc);
}

// The id of the next child of a communicator, 0 if that is not ours. Taken
// before the host is called, so that a rank on which that fails counts too.
static uint64_t child(W comm)
{
	struct cmpi_comm *c = cmpi_owned(comm);
	return c == NULL ? 0 : goChildContext(c);
}

// Constructors that all members of comm call.
#define CHILD(name, params, ...)                                                               \
	int MPI_##name params                                                                      \
	{                                                                                          \
		uint64_t context = child(comm);                                                        \
		return adopt_new("MPI_" #name, BLOCKING(NATIVE(name)(__VA_ARGS__)), newcomm, context); \
	}                                                                                          \
	PROFILED(name);

CHILD(Comm_dup, (W comm, int *newcomm), comm, newcomm)
CHILD(Comm_dup_with_info, (W comm, W info, int *newcomm), comm, info, newcomm)
CHILD(Comm_split, (W comm, int color, int key, int *newcomm), comm, color, key, newcomm)

// With CMPI_SHARED=pool the ranks that share memory are those of the job. Some
// may ask for nothing (MPI_UNDEFINED), so they agree on what the others want.
int MPI_Comm_split_type(W comm, int type, int key, W info, int *newcomm)
{
	uint64_t context = child(comm);
	int rc, shared = 0;
	if (context != 0 && cmpi_state.shared_pool) {
		int mine = type == MPICH_COMM_TYPE_SHARED;
		rc = BLOCKING(cmpi_host.Allreduce(&mine, &shared, 1, MPICH_INT, MPICH_LOR, comm));
		if (rc != MPICH_SUCCESS)
			return rc;
	}
	if (shared)
		rc = BLOCKING(NATIVE(Comm_split)(comm, type == MPICH_COMM_TYPE_SHARED ? 0 : MPICH_UNDEFINED, key, newcomm));
	else
		rc = BLOCKING(NATIVE(Comm_split_type)(comm, type, key, info, newcomm));
	return adopt_new("MPI_Comm_split_type", rc, newcomm, context);
}
PROFILED(Comm_split_type);

CHILD(Comm_create, (W comm, W group, int *newcomm), comm, group, newcomm)
CHILD(Cart_create, (W comm, int n, const int *dims, const int *periods, int reorder, int *newcomm), comm, n, dims, periods, reorder, newcomm)
CHILD(Cart_sub, (W comm, const int *remain, int *newcomm), comm, remain, newcomm)
CHILD(Graph_create, (W comm, int n, const int *index, const int *edges, int reorder, int *newcomm), comm, n, index, edges, reorder, newcomm)
CHILD(Dist_graph_create, (W comm, int n, const int *sources, const int *degrees, const int *destinations, const int *weights, W info, int reorder, int *newcomm), comm, n, sources, degrees, destinations, weights, info, reorder, newcomm)
CHILD(Dist_graph_create_adjacent, (W comm, int in, const int *sources, const int *inweights, int out, const int *destinations, const int *outweights, W info, int reorder, int *newcomm), comm, in, sources, inweights, out, destinations, outweights, info, reorder, newcomm)
CHILD(Intercomm_merge, (W comm, int high, int *newcomm), comm, high, newcomm)

// Constructors that members of several communicators call, or of a part of one.
#define UNION(name, params, ...)                                                         \
	int MPI_##name params                                                                \
	{                                                                                    \
		return adopt_new("MPI_" #name, BLOCKING(NATIVE(name)(__VA_ARGS__)), newcomm, 0); \
	}                                                                                    \
	PROFILED(name);

UNION(Comm_create_group, (W comm, W group, int tag, int *newcomm), comm, group, tag, newcomm)
UNION(Comm_create_from_group, (W group, const char *tag, W info, W handler, int *newcomm), group, tag, info, handler, newcomm)
UNION(Intercomm_create, (W local, int leader, W peer, int remote, int tag, int *newcomm), local, leader, peer, remote, tag, newcomm)
UNION(Intercomm_create_from_groups, (W local, int leader, W remote, int remote_leader, const char *tag, W info, W handler, int *newcomm), local, leader, remote, remote_leader, tag, info, handler, newcomm)

// Nonblocking duplicates. The host's request goes into one of ours, which makes
// the entry when the host has finished.
#define IDUP(name, params, ...)                                              \
	int MPI_##name params                                                    \
	{                                                                        \
		struct cmpi_comm *c = cmpi_owned(comm);                              \
		uint64_t context = child(comm);                                      \
		int rc = ASYNC(NATIVE(name)(__VA_ARGS__));                           \
		if (rc != MPICH_SUCCESS || c == NULL)                                \
			return rc;                                                       \
		return OURS(name, c->handle, goIdup(c, context, *newcomm, request)); \
	}                                                                        \
	PROFILED(name);

IDUP(Comm_idup, (W comm, int *newcomm, int *request), comm, newcomm, request)
IDUP(Comm_idup_with_info, (W comm, W info, int *newcomm, int *request), comm, info, newcomm, request)

// The delete callback does our part.

int MPI_Comm_free(void *comm)
{
	return BLOCKING(NATIVE(Comm_free)(comm));
}
PROFILED(Comm_free);

int MPI_Comm_disconnect(void *comm)
{
	return BLOCKING(NATIVE(Comm_disconnect)(comm));
}
PROFILED(Comm_disconnect);
