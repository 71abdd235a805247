! The Fortran 2008 bindings, which reach some functions by their MPI_ and some by
! their PMPI_ name.
program fortran
  use mpi_f08
  implicit none
  integer :: rank, size, peer, i, n, faults, total
  integer :: out(100), in(100)
  double precision :: grid(10, 10)
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: statuses(2), status
  type(MPI_Comm) :: comm
  type(MPI_Datatype) :: row
  faults = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  peer = ieor(rank, 1)
  out = [(i + 1000 * rank, i = 1, 100)]
  call MPI_Irecv(in, 100, MPI_INTEGER, peer, 3, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(out, 100, MPI_INTEGER, peer, 3, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, statuses)
  call MPI_Get_count(statuses(1), MPI_INTEGER, n)
  if (n /= 100 .or. statuses(1)%MPI_SOURCE /= peer .or. any(in /= [(i + 1000 * peer, i = 1, 100)])) faults = faults + 1
  call MPI_Irecv(in, 100, MPI_INTEGER, peer, 4, MPI_COMM_WORLD, requests(1))
  call MPI_Send(out, 50, MPI_INTEGER, peer, 4, MPI_COMM_WORLD)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
  if (any(in(1:50) /= [(i + 1000 * peer, i = 1, 50)]) .or. requests(1) /= MPI_REQUEST_NULL) faults = faults + 1
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  grid = rank
  call MPI_Type_vector(10, 1, 10, MPI_DOUBLE_PRECISION, row)
  call MPI_Type_commit(row)
  call MPI_Sendrecv(grid(1, 1), 1, row, peer, 5, grid(2, 1), 1, row, peer, 5, comm, status)
  if (any(grid(2, :) /= peer) .or. any(grid(3, :) /= rank) .or. status%MPI_TAG /= 5) faults = faults + 1
  call MPI_Type_free(row)
  call MPI_Comm_free(comm)
  call MPI_Allreduce(faults, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (rank == 0 .and. total == 0) print '(a)', 'ok'
  if (total /= 0) stop 1
end program
