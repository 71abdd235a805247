! What calls.c does, in Fortran, with the binding that the macro BINDING_MPIF,
! BINDING_MPI or BINDING_F08 chooses: calls functions that the tool counts, counts
! its own calls, verifies the data, and prints "made RANK Name=count ..." and, on
! rank 0, "OK calls".
#ifdef BINDING_F08
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define MESSAGE type(MPI_Message)
#define STATUS(name) type(MPI_Status) :: name
#define STATUSES(name, n) type(MPI_Status) :: name(n)
#define SOURCE_OF(status) status%MPI_SOURCE
#else
#define COMM integer
#define REQUEST integer
#define MESSAGE integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES(name, n) integer :: name(MPI_STATUS_SIZE, n)
#define SOURCE_OF(status) status(MPI_SOURCE)
#endif

program calls
#ifdef BINDING_F08
    use mpi_f08
#endif
#ifdef BINDING_MPI
    use mpi
#endif
    implicit none
#ifdef BINDING_MPIF
    include 'mpif.h'
#endif
    integer, parameter :: lengths(5) = [0, 1, 1000, 20000, 300000], longest = 300000
    ! The library writes behind the compiler's back.
    integer, volatile :: in(longest), more(longest)
    integer :: out(longest)
    integer :: rank, ranks, left, right, ierr, i, n, way, step, index, done, indices(4)
    logical :: flag
    COMM :: dup, ring
    REQUEST :: requests(4)
    MESSAGE :: matched
    STATUS(state)
    STATUSES(states, 4)

    integer, parameter :: most = 40
    character(len=16) :: names(most)
    integer :: counts(most), known

    known = 0
    step = 0
    call note('Init')
    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    left = mod(rank + ranks - 1, ranks)
    right = mod(rank + 1, ranks)
    call note('Comm_dup')
    call MPI_Comm_dup(MPI_COMM_WORLD, dup, ierr)
    call note('Comm_split')
    call MPI_Comm_split(dup, 0, rank, ring, ierr)

    do i = 1, size(lengths)
        n = lengths(i)
        call blocking
        do way = 0, 7
            call prepare
            call note('Irecv')
            call MPI_Irecv(in, n, MPI_INTEGER, left, 7, ring, requests(1), ierr)
            call note('Irecv')
            call MPI_Irecv(more, n, MPI_INTEGER, left, 8, ring, requests(2), ierr)
            call note('Isend')
            call MPI_Isend(out, n, MPI_INTEGER, right, 7, ring, requests(3), ierr)
            call note('Issend')
            call MPI_Issend(out, n, MPI_INTEGER, right, 8, ring, requests(4), ierr)
            call complete
            call check(in)
            call check(more)
        end do
        call persistent
    end do
    call collectives

    call note('Comm_free')
    call MPI_Comm_free(ring, ierr)
    call note('Comm_free')
    call MPI_Comm_free(dup, ierr)
    call note('Finalize')
    write (*, '(a, i0, *(a))') 'made ', rank, (' ' // trim(names(i)) // '=' // trim(decimal(counts(i))), i = 1, known)
    if (rank == 0) write (*, '(a)') 'OK calls'
    flush (6)
    call MPI_Finalize(ierr)

contains

    ! Counts a call that the tool is to see.
    subroutine note(name)
        character(len=*), intent(in) :: name
        integer :: k
        do k = 1, known
            if (names(k) == name) then
                counts(k) = counts(k) + 1
                return
            end if
        end do
        known = known + 1
        names(known) = name
        counts(known) = 1
    end subroutine note

    function decimal(k) result(text)
        integer, intent(in) :: k
        character(len=12) :: text
        write (text, '(i0)') k
    end function decimal

    subroutine fail(what)
        character(len=*), intent(in) :: what
        write (*, '(a, i0, 2a)') 'FAIL calls: rank ', rank, ': ', what
        call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
    end subroutine fail

    subroutine prepare
        integer :: k
        step = step + 1
        do k = 1, n
            out(k) = rank * 1000003 + step * 10007 + k
        end do
        in(1:n) = -1
        more(1:n) = -1
    end subroutine prepare

    subroutine check(data)
        integer, volatile :: data(longest)
        integer :: k
        do k = 1, n
            if (data(k) /= left * 1000003 + step * 10007 + k) call fail('wrong data')
        end do
    end subroutine check

    subroutine check_state
        if (SOURCE_OF(state) /= left) call fail('wrong source')
    end subroutine check_state

    subroutine blocking
        integer :: half
        call prepare
        call note('Sendrecv')
        call MPI_Sendrecv(out, n, MPI_INTEGER, right, 1, in, n, MPI_INTEGER, left, 1, ring, state, ierr)
        call check_state
        call check(in)

        call prepare
        do half = 0, 1 ! even ranks send first
            if (half == mod(rank, 2)) then
                call note('Send')
                call MPI_Send(out, n, MPI_INTEGER, right, 3, ring, ierr)
            else
                call note('Recv')
                call MPI_Recv(in, n, MPI_INTEGER, left, 3, ring, state, ierr)
            end if
        end do
        call check_state
        call check(in)

        call prepare
        call note('Isend')
        call MPI_Isend(out, n, MPI_INTEGER, right, 4, ring, requests(1), ierr)
        call note('Probe')
        call MPI_Probe(MPI_ANY_SOURCE, 4, ring, state, ierr)
        call check_state
        flag = .false.
        do while (.not. flag)
            call note('Iprobe')
            call MPI_Iprobe(left, MPI_ANY_TAG, ring, flag, state, ierr)
        end do
        call note('Mprobe')
        call MPI_Mprobe(left, 4, ring, matched, state, ierr)
        call note('Mrecv')
        call MPI_Mrecv(in, n, MPI_INTEGER, matched, state, ierr)
        call check_state
        call check(in)
        call note('Wait')
        call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
    end subroutine blocking

    subroutine complete
        integer :: left_over, k
        flag = .false.
        left_over = 4
        select case (way)
        case (0)
            call note('Waitall')
            call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
        case (1)
            do k = 1, 4
                call note('Waitany')
                call MPI_Waitany(4, requests, index, state, ierr)
            end do
        case (2)
            do while (left_over > 0)
                call note('Waitsome')
                call MPI_Waitsome(4, requests, done, indices, states, ierr)
                left_over = left_over - done
            end do
        case (3)
            do k = 1, 4
                flag = .false.
                do while (.not. flag)
                    call note('Test')
                    call MPI_Test(requests(k), flag, state, ierr)
                end do
            end do
        case (4)
            do while (.not. flag)
                call note('Testall')
                call MPI_Testall(4, requests, flag, states, ierr)
            end do
        case (5)
            do while (left_over > 0)
                call note('Testany')
                call MPI_Testany(4, requests, index, flag, state, ierr)
                if (flag) left_over = left_over - 1
            end do
        case (6)
            do while (left_over > 0)
                call note('Testsome')
                call MPI_Testsome(4, requests, done, indices, states, ierr)
                left_over = left_over - done
            end do
        case default
            do k = 4, 1, -1
                call note('Wait')
                call MPI_Wait(requests(k), state, ierr)
            end do
        end select
    end subroutine complete

    subroutine persistent
        integer :: round, k
        call note('Recv_init')
        call MPI_Recv_init(in, n, MPI_INTEGER, left, 9, ring, requests(1), ierr)
        call note('Send_init')
        call MPI_Send_init(out, n, MPI_INTEGER, right, 9, ring, requests(2), ierr)
        do round = 1, 3
            call prepare
            if (round == 1) then
                do k = 1, 2
                    call note('Start')
                    call MPI_Start(requests(k), ierr)
                end do
            else
                call note('Startall')
                call MPI_Startall(2, requests, ierr)
            end if
            call note('Waitall')
            call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
            call check(in)
        end do
        do k = 1, 2
            call note('Request_free')
            call MPI_Request_free(requests(k), ierr)
        end do
    end subroutine persistent

    subroutine collectives
        integer :: value(1), total(1), mine(1)
        value = rank
        mine = rank
        call note('Bcast')
        call MPI_Bcast(value, 1, MPI_INTEGER, ranks - 1, ring, ierr)
        call note('Allreduce')
        call MPI_Allreduce(mine, total, 1, MPI_INTEGER, MPI_SUM, ring, ierr)
        if (value(1) /= ranks - 1 .or. total(1) /= ranks * (ranks - 1) / 2) call fail('wrong result of a collective')
        call note('Barrier')
#ifdef BINDING_F08
        call MPI_Barrier(ring) ! without the error code
#else
        call MPI_Barrier(ring, ierr)
#endif
        call note('Ibarrier')
        call MPI_Ibarrier(ring, requests(1), ierr)
        call note('Wait')
        call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
        call note('Irecv')
        call MPI_Irecv(in, 1, MPI_INTEGER, left, 12, ring, requests(1), ierr) ! nobody sends it
        call note('Cancel')
        call MPI_Cancel(requests(1), ierr)
        call note('Wait')
        call MPI_Wait(requests(1), state, ierr)
        call MPI_Test_cancelled(state, flag, ierr)
        if (.not. flag) call fail('a receive was not cancelled')
    end subroutine collectives
end program calls
