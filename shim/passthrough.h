// Host functions that only need one thing of us: that our side goes on beside
// them. With their number of arguments.
//
// WRAP: may block until another rank comes, so the helper makes progress for us
// meanwhile. START: begins something that goes on after the call (and, where it is
// collective, may block as well). POLL: may be repeated until it says yes. _BOTH:
// with the large-count twin.

// Collectives.
WRAP(1, Barrier)
WRAP_BOTH(5, Bcast)
WRAP_BOTH(8, Gather)
WRAP_BOTH(9, Gatherv)
WRAP_BOTH(8, Scatter)
WRAP_BOTH(9, Scatterv)
WRAP_BOTH(7, Allgather)
WRAP_BOTH(8, Allgatherv)
WRAP_BOTH(7, Alltoall)
WRAP_BOTH(9, Alltoallv)
WRAP_BOTH(9, Alltoallw)
WRAP_BOTH(7, Reduce)
WRAP_BOTH(6, Allreduce)
WRAP_BOTH(6, Reduce_scatter)
WRAP_BOTH(6, Reduce_scatter_block)
WRAP_BOTH(6, Scan)
WRAP_BOTH(6, Exscan)
WRAP_BOTH(7, Neighbor_allgather)
WRAP_BOTH(8, Neighbor_allgatherv)
WRAP_BOTH(7, Neighbor_alltoall)
WRAP_BOTH(9, Neighbor_alltoallv)
WRAP_BOTH(9, Neighbor_alltoallw)

// Collectives that make or change something without making a communicator.
WRAP(2, Comm_set_info)
WRAP(5, Cart_map)
WRAP(5, Graph_map)

// Processes that join later are the host's altogether.
WRAP(5, Comm_accept)
WRAP(5, Comm_connect)
WRAP(2, Comm_join)
WRAP(8, Comm_spawn)
WRAP(9, Comm_spawn_multiple)
WRAP(3, Session_init)
WRAP(1, Session_finalize)

// Windows that are the host's altogether; the other functions on windows are in
// win.c and rma.c.
START(3, Win_create_dynamic)
WRAP(2, Win_set_info)

// Files: what is collective, or takes its turn after another rank.
WRAP(5, File_open)
WRAP(1, File_close)
WRAP(2, File_set_size)
WRAP(2, File_preallocate)
WRAP(6, File_set_view)
WRAP(2, File_set_info)
WRAP(2, File_set_atomicity)
WRAP(1, File_sync)
WRAP(3, File_seek_shared)
WRAP_BOTH(6, File_read_at_all)
WRAP_BOTH(6, File_write_at_all)
WRAP_BOTH(5, File_read_all)
WRAP_BOTH(5, File_write_all)
WRAP_BOTH(5, File_read_shared)
WRAP_BOTH(5, File_write_shared)
WRAP_BOTH(5, File_read_ordered)
WRAP_BOTH(5, File_write_ordered)
WRAP_BOTH(5, File_read_at_all_begin)
WRAP(3, File_read_at_all_end)
WRAP_BOTH(5, File_write_at_all_begin)
WRAP(3, File_write_at_all_end)
WRAP_BOTH(4, File_read_all_begin)
WRAP(3, File_read_all_end)
WRAP_BOTH(4, File_write_all_begin)
WRAP(3, File_write_all_end)
WRAP_BOTH(4, File_read_ordered_begin)
WRAP(3, File_read_ordered_end)
WRAP_BOTH(4, File_write_ordered_begin)
WRAP(3, File_write_ordered_end)

// Operations that go on after the call.

// Nonblocking collectives.
START(2, Ibarrier)
START_BOTH(6, Ibcast)
START_BOTH(9, Igather)
START_BOTH(10, Igatherv)
START_BOTH(9, Iscatter)
START_BOTH(10, Iscatterv)
START_BOTH(8, Iallgather)
START_BOTH(9, Iallgatherv)
START_BOTH(8, Ialltoall)
START_BOTH(10, Ialltoallv)
START_BOTH(10, Ialltoallw)
START_BOTH(8, Ireduce)
START_BOTH(7, Iallreduce)
START_BOTH(7, Ireduce_scatter)
START_BOTH(7, Ireduce_scatter_block)
START_BOTH(7, Iscan)
START_BOTH(7, Iexscan)
START_BOTH(8, Ineighbor_allgather)
START_BOTH(9, Ineighbor_allgatherv)
START_BOTH(8, Ineighbor_alltoall)
START_BOTH(10, Ineighbor_alltoallv)
START_BOTH(10, Ineighbor_alltoallw)

// Nonblocking file operations.
START_BOTH(6, File_iread_at)
START_BOTH(6, File_iwrite_at)
START_BOTH(5, File_iread)
START_BOTH(5, File_iwrite)
START_BOTH(5, File_iread_shared)
START_BOTH(5, File_iwrite_shared)
START_BOTH(6, File_iread_at_all)
START_BOTH(6, File_iwrite_at_all)
START_BOTH(5, File_iread_all)
START_BOTH(5, File_iwrite_all)

// Generalized requests. (Persistent ones start by MPI_Start.)
START(5, Grequest_start)
