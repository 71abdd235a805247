/* Tickets from one counter by fetch-and-op, taken by all ranks at once and
 * served by none: every ticket must be given out exactly once, whichever
 * number of ranks shares a processor. Whoever gets a ticket signs for it in the
 * book of another rank.
 *
 * tickets: how many. */
#include "common.h"

enum { NEXT, LEFT, LARGEST, COUNTERS };

static MPI_Win counters, book;

/* One ticket from counter at NEXT of rank 0. */
static int64_t draw(int64_t step) {
    int64_t ticket = -1;
    MPI_Fetch_and_op(&step, &ticket, MPI_INT64_T, 0, NEXT, MPI_SUM, counters);
    MPI_Win_flush(0, counters);
    return ticket;
}

int main(int argc, char **argv) {
    int64_t *mine, *pages, drawn = 0, last = -1, total, minus = -1, none = 0, got[COUNTERS];
    start(argc, argv, "rma_counter", 2);
    long tickets = option("tickets", 3000), each = (tickets + world_size - 1) / world_size;
    MPI_Win_allocate(world_rank == 0 ? COUNTERS * 8 : 0, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &counters);
    MPI_Win_allocate(each * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &pages, &book);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, book);
    for (long i = 0; i < each; i++) {
        pages[i] = 0;
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, book);
    if (world_rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, counters);
        mine[NEXT] = 0;
        mine[LEFT] = tickets;
        mine[LARGEST] = -1;
        MPI_Win_unlock(0, counters);
    }
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Win_lock_all(0, counters);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, book);
    for (int64_t ticket; (ticket = draw(1)) < tickets;) {
        int64_t signature = 1000000 + world_rank, left;
        EXPECT(ticket > last, "ticket %lld after %lld", (long long)ticket, (long long)last);
        last = ticket;
        drawn++;
        MPI_Accumulate(&signature, 1, MPI_INT64_T, (int)(ticket % world_size), ticket / world_size, 1, MPI_INT64_T,
                       MPI_SUM, book);
        MPI_Win_flush_local((int)(ticket % world_size), book);
        MPI_Fetch_and_op(&minus, &left, MPI_INT64_T, 0, LEFT, MPI_SUM, counters);
        MPI_Fetch_and_op(&ticket, got, MPI_INT64_T, 0, LARGEST, MPI_MAX, counters);
        MPI_Win_flush_local(0, counters);
        EXPECT(left > 0 && left <= tickets && got[0] < tickets, "%lld tickets left, largest %lld", (long long)left,
               (long long)got[0]);
    }
    MPI_Win_unlock_all(book);
    MPI_Win_unlock_all(counters);
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, counters);
    for (int i = 0; i < COUNTERS; i++) {
        MPI_Fetch_and_op(&none, &got[i], MPI_INT64_T, 0, i, MPI_NO_OP, counters);
    }
    MPI_Win_unlock(0, counters);
    EXPECT(got[NEXT] == tickets + world_size && got[LEFT] == 0 && got[LARGEST] == tickets - 1,
           "in the end the counters are %lld, %lld, %lld", (long long)got[NEXT], (long long)got[LEFT],
           (long long)got[LARGEST]);
    MPI_Allreduce(&drawn, &total, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(total == tickets, "%lld tickets were drawn, not %ld", (long long)total, tickets);

    int64_t *signatures = need((size_t)world_size * sizeof *signatures), *sum = need((size_t)world_size * sizeof *sum);
    memset(signatures, 0, (size_t)world_size * sizeof *signatures);
    MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, book);
    for (long i = 0; i < each && i * world_size + world_rank < tickets; i++) {
        EXPECT(pages[i] >= 1000000 && pages[i] < 1000000 + world_size, "ticket %ld is signed by %lld",
               i * world_size + world_rank, (long long)pages[i]);
        signatures[pages[i] - 1000000]++;
    }
    MPI_Win_unlock(world_rank, book);
    MPI_Allreduce(signatures, sum, world_size, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum[world_rank] == drawn, "%lld tickets signed, %lld drawn", (long long)sum[world_rank], (long long)drawn);
    free(signatures);
    free(sum);
    MPI_Win_free(&book);
    MPI_Win_free(&counters);
    return finish();
}
