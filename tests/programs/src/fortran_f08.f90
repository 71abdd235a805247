! The ring, a strided section and wildcards in a program that uses mpi_f08:
! typed handles and statuses, optional error arguments.
program fortran_f08
    use mpi_f08
    use, intrinsic :: iso_fortran_env, only: real64, error_unit
    implicit none
    integer, parameter :: n = 30000
    integer :: rank, ranks, right, left, i, round, length
    logical :: flag
    type(MPI_Comm) :: comm
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: status, statuses(2)
    type(MPI_Datatype) :: every_third
    real(real64), asynchronous :: out(n), in(n)

    call MPI_Init()
    call MPI_Comm_split(MPI_COMM_WORLD, 0, 0, comm)
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, ranks)
    right = mod(rank + 1, ranks)
    left = mod(rank + ranks - 1, ranks)

    do round = 1, 12
        length = mod(round * 7919, n + 1)
        out = [(rank * 1d6 + round * 1d5 + i, i = 1, n)]
        in = -1
        call MPI_Irecv(in, n, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, round, comm, requests(1))
        if (mod(round, 2) == 0) then
            call MPI_Issend(out, length, MPI_DOUBLE_PRECISION, right, round, comm, requests(2))
        else
            call MPI_Isend(out, length, MPI_DOUBLE_PRECISION, right, round, comm, requests(2))
        end if
        select case (mod(round, 4))
        case (0)
            call MPI_Waitall(2, requests, statuses)
        case (1)
            call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
            call MPI_Wait(requests(1), statuses(1))
        case (2)
            do i = 1, 2
                flag = .false.
                do while (.not. flag)
                    call MPI_Test(requests(i), flag, statuses(i))
                end do
            end do
        case default
            flag = .false.
            do while (.not. flag)
                call MPI_Testall(2, requests, flag, statuses)
            end do
        end select
        call MPI_F_sync_reg(in)
        if (statuses(1)%MPI_SOURCE /= left .or. statuses(1)%MPI_TAG /= round) call fail('source or tag')
        call MPI_Get_count(statuses(1), MPI_DOUBLE_PRECISION, i)
        if (i /= length) call fail('count')
        if (any(in(1:length) /= [(left * 1d6 + round * 1d5 + i, i = 1, length)])) call fail('values')
        if (any(in(length + 1:) /= -1)) call fail('values behind the message')
        if (requests(1) /= MPI_REQUEST_NULL) call fail('a finished request is still there')
    end do

    call MPI_Type_vector(n / 3, 1, 3, MPI_DOUBLE_PRECISION, every_third)
    call MPI_Type_commit(every_third)
    out = [(rank * 1d6 + i, i = 1, n)]
    in = -1
    call MPI_Sendrecv(out, 1, every_third, right, 5, in, n, MPI_DOUBLE_PRECISION, left, 5, comm, status)
    call MPI_F_sync_reg(in)
    call MPI_Type_free(every_third)
    if (any(in(1:n / 3) /= [(left * 1d6 + i, i = 1, n, 3)])) call fail('every third value')
    if (any(in(n / 3 + 1:) /= -1)) call fail('values behind every third')

    call MPI_Comm_free(comm)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Finalize()
    if (rank == 0) print '(a)', 'OK fortran_f08'

contains

    subroutine fail(what)
        character(*), intent(in) :: what
        write (error_unit, '(a,i0,2a)') 'FAIL fortran_f08: rank ', rank, ': ', what
        call MPI_Abort(MPI_COMM_WORLD, 1)
    end subroutine
end program
