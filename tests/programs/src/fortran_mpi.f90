! Halo exchange of a Fortran-order matrix in a program that uses the mpi module:
! columns are contiguous, rows and the box are derived types; persistent
! requests; wildcards and probe.
program fortran_mpi
    use mpi
    implicit none
    integer, parameter :: rows = 80, columns = 50
    integer :: rank, ranks, right, left, ierr, i, j, step, box, count, comm
    integer :: requests(4), status(MPI_STATUS_SIZE)
    integer, volatile :: a(0:rows + 1, 0:columns + 1) ! written behind the compiler's back
    integer, allocatable :: inner(:)

    call MPI_Init(ierr)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call MPI_Comm_rank(comm, rank, ierr)
    call MPI_Comm_size(comm, ranks, ierr)
    right = mod(rank + 1, ranks)
    left = mod(rank + ranks - 1, ranks)

    call MPI_Recv_init(a(0, 0), rows + 2, MPI_INTEGER, left, 1, comm, requests(1), ierr)
    call MPI_Recv_init(a(0, columns + 1), rows + 2, MPI_INTEGER, right, 2, comm, requests(2), ierr)
    call MPI_Send_init(a(0, columns), rows + 2, MPI_INTEGER, right, 1, comm, requests(3), ierr)
    call MPI_Send_init(a(0, 1), rows + 2, MPI_INTEGER, left, 2, comm, requests(4), ierr)
    do step = 1, 5
        do j = 1, columns
            do i = 0, rows + 1
                a(i, j) = value(rank, step, i, j)
            end do
        end do
        a(:, 0) = -1
        a(:, columns + 1) = -1
        call MPI_Startall(4, requests, ierr)
        call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
        do i = 0, rows + 1
            if (a(i, 0) /= value(left, step, i, columns)) call fail('left border')
            if (a(i, columns + 1) /= value(right, step, i, 1)) call fail('right border')
        end do
    end do
    do i = 1, 4
        call MPI_Request_free(requests(i), ierr)
    end do

    ! The inside of the matrix, as a box of the whole, to rank 0 by wildcard.
    call MPI_Type_create_subarray(2, [rows + 2, columns + 2], [rows, columns], [1, 1], MPI_ORDER_FORTRAN, &
                                  MPI_INTEGER, box, ierr)
    call MPI_Type_commit(box, ierr)
    if (rank == 0) then
        allocate (inner(rows * columns))
        do step = 1, ranks - 1
            call MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, status, ierr)
            call MPI_Get_count(status, MPI_INTEGER, count, ierr)
            if (count /= rows * columns .or. status(MPI_TAG) /= 100 + status(MPI_SOURCE)) call fail('probe')
            call MPI_Recv(inner, count, MPI_INTEGER, status(MPI_SOURCE), status(MPI_TAG), comm, MPI_STATUS_IGNORE, ierr)
            do j = 1, columns
                do i = 1, rows
                    if (inner(i + (j - 1) * rows) /= value(status(MPI_SOURCE), 5, i, j)) call fail('box')
                end do
            end do
        end do
    else
        call MPI_Ssend(a, 1, box, 0, 100 + rank, comm, ierr)
    end if
    call MPI_Type_free(box, ierr)
    call MPI_Comm_free(comm, ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Finalize(ierr)
    if (rank == 0) print '(a)', 'OK fortran_mpi'

contains

    integer function value(owner, step, i, j)
        integer, intent(in) :: owner, step, i, j
        value = owner * 10000000 + step * 1000000 + j * 1000 + i
    end function

    subroutine fail(what)
        character(*), intent(in) :: what
        write (0, '(a,i0,2a)') 'FAIL fortran_mpi: rank ', rank, ': ', what
        call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
    end subroutine
end program
