! The ring and a strided column in a program that includes mpif.h: integer
! handles, statuses as integer arrays.
program fortran_mpif
    implicit none
    include 'mpif.h'
    integer, parameter :: n = 5000, rows = 60, columns = 40
    integer :: rank, ranks, right, left, ierr, i, round, length, column
    integer :: status(MPI_STATUS_SIZE), requests(2), statuses(MPI_STATUS_SIZE, 2)
    double precision :: out(n), matrix(rows, columns)
    double precision, volatile :: in(n) ! written behind the compiler's back

    call MPI_INIT(ierr)
    call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
    call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
    right = mod(rank + 1, ranks)
    left = mod(rank + ranks - 1, ranks)

    do round = 1, 20
        length = mod(round * 1237, n + 1)
        do i = 1, n
            out(i) = rank * 1d6 + round * 1d4 + i
        end do
        in = -1
        call MPI_IRECV(in, n, MPI_DOUBLE_PRECISION, left, round, MPI_COMM_WORLD, requests(1), ierr)
        call MPI_ISEND(out, length, MPI_DOUBLE_PRECISION, right, round, MPI_COMM_WORLD, requests(2), ierr)
        call MPI_WAITALL(2, requests, statuses, ierr)
        call expect_count(statuses(1, 1), length)
        if (statuses(MPI_SOURCE, 1) /= left .or. statuses(MPI_TAG, 1) /= round) call fail('source or tag')
        do i = 1, n
            if (i <= length) then
                if (in(i) /= left * 1d6 + round * 1d4 + i) call fail('value received')
            else
                if (in(i) /= -1) call fail('value behind the message')
            end if
        end do
    end do

    ! Row 7 of the matrix goes to the right, into row 9 there.
    do column = 1, columns
        do i = 1, rows
            matrix(i, column) = rank * 1d6 + column * 1d3 + i
        end do
    end do
    call MPI_TYPE_VECTOR(columns, 1, rows, MPI_DOUBLE_PRECISION, length, ierr)
    call MPI_TYPE_COMMIT(length, ierr)
    call MPI_SENDRECV(matrix(7, 1), 1, length, right, 1, matrix(9, 1), 1, length, left, 1, MPI_COMM_WORLD, status, ierr)
    call MPI_TYPE_FREE(length, ierr)
    do column = 1, columns
        do i = 1, rows
            if (i == 9) then
                if (matrix(i, column) /= left * 1d6 + column * 1d3 + 7) call fail('row received')
            else
                if (matrix(i, column) /= rank * 1d6 + column * 1d3 + i) call fail('row that was not received')
            end if
        end do
    end do

    call MPI_SEND(out, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 1, MPI_COMM_WORLD, ierr)
    call MPI_RECV(in, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_BARRIER(MPI_COMM_WORLD, ierr)
    call MPI_FINALIZE(ierr)
    if (rank == 0) print '(a)', 'OK fortran_mpif'

contains

    subroutine expect_count(s, wanted)
        integer, intent(in) :: s(MPI_STATUS_SIZE), wanted
        integer :: got
        call MPI_GET_COUNT(s, MPI_DOUBLE_PRECISION, got, ierr)
        if (got /= wanted) call fail('count received')
    end subroutine

    subroutine fail(what)
        character(*), intent(in) :: what
        write (0, '(a,i0,2a)') 'FAIL fortran_mpif: rank ', rank, ': ', what
        call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
    end subroutine
end program
