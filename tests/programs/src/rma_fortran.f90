! One-sided communication from Fortran (use mpi): a window allocated by MPI and
! seen as an array by C_F_POINTER, a column and a row put to the neighbours
! under fence, post/start/complete/wait and locks, and a shared counter.
program rma_fortran
    use mpi
    use, intrinsic :: iso_c_binding
    implicit none
    integer, parameter :: rows = 30, columns = 20
    integer :: rank, ranks, right, left, ierr, win, shared, row, group, pair, i, j, round, unit, flavor
    integer :: request
    integer(MPI_ADDRESS_KIND) :: bytes, at, length, attribute
    integer(8) :: one, ticket, total, tickets
    type(c_ptr) :: base
    double precision, pointer, volatile :: block(:, :)
    double precision :: edge(rows), line(columns), back(rows)
    integer, pointer, volatile :: words(:)
    logical :: flag

    call MPI_INIT(ierr)
    call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
    call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
    right = mod(rank + 1, ranks)
    left = mod(rank + ranks - 1, ranks)

    bytes = 8 * rows * columns
    call MPI_WIN_ALLOCATE(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr)
    call c_f_pointer(base, block, [rows, columns])
    call MPI_WIN_GET_ATTR(win, MPI_WIN_SIZE, attribute, flag, ierr)
    if (.not. flag .or. attribute /= bytes) call fail('size of the window')
    call MPI_WIN_GET_ATTR(win, MPI_WIN_CREATE_FLAVOR, attribute, flag, ierr)
    flavor = int(attribute)
    if (.not. flag .or. flavor /= MPI_WIN_FLAVOR_ALLOCATE) call fail('kind of the window')
    call MPI_TYPE_VECTOR(columns, 1, rows, MPI_DOUBLE_PRECISION, row, ierr)
    call MPI_TYPE_COMMIT(row, ierr)

    do round = 1, 10
        call MPI_WIN_FENCE(MPI_MODE_NOPRECEDE, win, ierr)
        do j = 1, columns
            do i = 1, rows
                block(i, j) = value(rank, i, j) + round
            end do
        end do
        do i = 1, rows
            edge(i) = -value(rank, i, 3) - round
        end do
        do j = 1, columns
            line(j) = 2 * value(rank, 5, j) + round
        end do
        call MPI_WIN_FENCE(0, win, ierr)
        ! Column 4 of the right neighbour, row 9 of the left one.
        at = 3 * rows
        call MPI_PUT(edge, rows, MPI_DOUBLE_PRECISION, right, at, rows, MPI_DOUBLE_PRECISION, win, ierr)
        call MPI_WIN_FENCE(0, win, ierr)
        at = 8
        call MPI_PUT(line, columns, MPI_DOUBLE_PRECISION, left, at, 1, row, win, ierr)
        call MPI_WIN_FENCE(MPI_MODE_NOSUCCEED, win, ierr)
        do j = 1, columns
            do i = 1, rows
                if (i == 9) then
                    if (block(i, j) /= 2 * value(right, 5, j) + round) call fail('row that was put')
                else if (j == 4) then
                    if (block(i, j) /= -value(left, i, 3) - round) call fail('column that was put')
                else
                    if (block(i, j) /= value(rank, i, j) + round) call fail('cell that was not put')
                end if
            end do
        end do
        call MPI_BARRIER(MPI_COMM_WORLD, ierr)
    end do

    ! The left neighbour reads column 7 of ours, between post and wait.
    call MPI_COMM_GROUP(MPI_COMM_WORLD, group, ierr)
    do round = 1, 5
        call MPI_GROUP_INCL(group, 1, [left], pair, ierr)
        block(:, 7) = value(rank, 1, 1) + round
        call MPI_WIN_POST(pair, 0, win, ierr)
        call MPI_GROUP_FREE(pair, ierr)
        call MPI_GROUP_INCL(group, 1, [right], pair, ierr)
        call MPI_WIN_START(pair, 0, win, ierr)
        call MPI_GROUP_FREE(pair, ierr)
        at = 6 * rows
        back = 0
        call MPI_GET(back, rows, MPI_DOUBLE_PRECISION, right, at, rows, MPI_DOUBLE_PRECISION, win, ierr)
        call MPI_WIN_COMPLETE(win, ierr)
        call MPI_WIN_WAIT(win, ierr)
        if (any(back /= value(right, 1, 1) + round)) call fail('column that was got')
    end do
    call MPI_GROUP_FREE(group, ierr)

    ! A request-based get under a lock.
    call MPI_BARRIER(MPI_COMM_WORLD, ierr)
    call MPI_WIN_LOCK(MPI_LOCK_SHARED, right, 0, win, ierr)
    back = 0
    call MPI_RGET(back, rows, MPI_DOUBLE_PRECISION, right, at, rows, MPI_DOUBLE_PRECISION, win, request, ierr)
    call MPI_WAIT(request, MPI_STATUS_IGNORE, ierr)
    call MPI_WIN_UNLOCK(right, win, ierr)
    if (any(back /= value(right, 1, 1) + 5)) call fail('column that was got by request')
    call MPI_TYPE_FREE(row, ierr)

    ! Tickets: 100 for every rank, from cell (1, 1) of rank 0, as an integer.
    call MPI_BARRIER(MPI_COMM_WORLD, ierr)
    if (rank == 0) then
        call MPI_WIN_LOCK(MPI_LOCK_EXCLUSIVE, 0, 0, win, ierr)
        block(1, 1) = 0 ! all bits zero
        call MPI_WIN_UNLOCK(0, win, ierr)
    end if
    call MPI_BARRIER(MPI_COMM_WORLD, ierr)
    one = 1
    at = 0
    tickets = 0
    call MPI_WIN_LOCK_ALL(0, win, ierr)
    do i = 1, 100
        call MPI_FETCH_AND_OP(one, ticket, MPI_INTEGER8, 0, at, MPI_SUM, win, ierr)
        call MPI_WIN_FLUSH(0, win, ierr)
        tickets = tickets + ticket
    end do
    call MPI_WIN_UNLOCK_ALL(win, ierr)
    call MPI_ALLREDUCE(tickets, total, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (total /= 100_8 * ranks * (100_8 * ranks - 1) / 2) call fail('tickets')
    call MPI_WIN_FREE(win, ierr)

    ! Another's part of a shared window, by plain loads.
    bytes = 64 * (rank + 1)
    call MPI_WIN_ALLOCATE_SHARED(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, shared, ierr)
    call c_f_pointer(base, words, [16 * (rank + 1)])
    call MPI_WIN_LOCK_ALL(MPI_MODE_NOCHECK, shared, ierr)
    words = 1000 * rank
    call MPI_WIN_SYNC(shared, ierr)
    call MPI_BARRIER(MPI_COMM_WORLD, ierr)
    call MPI_WIN_SYNC(shared, ierr)
    do i = 0, ranks - 1
        call MPI_WIN_SHARED_QUERY(shared, i, length, unit, base, ierr)
        if (length /= 64 * (i + 1) .or. unit /= 4) call fail('size of a part')
        call c_f_pointer(base, words, [16 * (i + 1)])
        if (any(words /= 1000 * i)) call fail('words of another')
    end do
    call MPI_WIN_UNLOCK_ALL(shared, ierr)
    call MPI_WIN_FREE(shared, ierr)

    call MPI_FINALIZE(ierr)
    if (rank == 0) print '(a)', 'OK rma_fortran'

contains

    double precision function value(r, i, j)
        integer, intent(in) :: r, i, j
        value = r * 1d6 + j * 1d3 + i
    end function

    subroutine fail(what)
        character(*), intent(in) :: what
        write (0, '(a,i0,2a)') 'FAIL rma_fortran: rank ', rank, ': ', what
        call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
    end subroutine

end program
