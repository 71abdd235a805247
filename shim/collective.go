package main

import (
	"time"
	"unsafe"

	"cmpi/mpitransport"
	"cmpi/mpitransport/window"
)

// The few collectives that windows need to be made and freed, by messages of the
// engine: the program's communicator may be freed before its window, and a C
// program without an MPI has no others. Only windows use them, on communicators
// of their own, so tags and order are ours.

// memory is a piece of memory of the process.
type memory struct {
	p unsafe.Pointer
	n int64
}

// exchange sends to one rank and receives from another. ErrOther: one of them has
// died.
func exchange(ec *mpitransport.Comm, to, from int, out, in memory, tag int32) mpitransport.Class {
	r, class := endpoint.Irecv(ec, in.p, in.n, byteType, int32(from), tag)
	if class != mpitransport.OK {
		return class
	}
	s, class := endpoint.Isend(ec, out.p, out.n, byteType, int32(to), tag, mpitransport.Standard)
	if class == mpitransport.OK {
		if class = waitLiving(s, ec, to); class == mpitransport.OK {
			class = waitLiving(r, ec, from)
		}
		endpoint.Release(s)
	}
	if class != mpitransport.OK {
		endpoint.Cancel(r)
	}
	endpoint.Release(r)
	return class
}

// waitLiving waits for a request for as long as the other side lives.
func waitLiving(r *mpitransport.Request, ec *mpitransport.Comm, peer int) mpitransport.Class {
	asked := time.Time{}
	for w, looks := (waiter{}), 0; !r.Done(); looks++ {
		w.step()
		if looks%pokeEvery != pokeEvery-1 {
			continue
		}
		now := time.Now()
		switch {
		case asked.IsZero():
			asked = now
		case now.Sub(asked) >= window.LostAfter:
			asked = now
			if !endpoint.Alive(ec.Members()[peer]) && !r.Done() {
				return mpitransport.ErrOther
			}
		}
	}
	return r.Status().Err
}

// gather gives every member the mine of all, n bytes each, by rank. In round k a
// rank has those of 2^k ranks from itself on, and gets as many more (Bruck's
// algorithm).
func gather(ec *mpitransport.Comm, mine, all unsafe.Pointer, n int64) mpitransport.Class {
	size, rank := ec.Size(), ec.Rank()
	turned := make([]byte, int64(size)*n)
	at := func(i int) unsafe.Pointer { return unsafe.Pointer(&turned[int64(i)*n]) }
	copy(turned, unsafe.Slice((*byte)(mine), n))
	for have := 1; have < size; have *= 2 {
		length := int64(min(have, size-have)) * n
		class := exchange(ec, (rank-have+size)%size, (rank+have)%size, memory{at(0), length}, memory{at(have), length}, 0)
		if class != mpitransport.OK {
			return class
		}
	}
	for i := range size {
		to := unsafe.Add(all, int64((rank+i)%size)*n)
		copy(unsafe.Slice((*byte)(to), n), turned[int64(i)*n:])
	}
	return mpitransport.OK
}

// barrier returns when all members have called it: in round k a rank hears from
// the one 2^k before it, and with that from all up to there.
func barrier(ec *mpitransport.Comm) error {
	size, rank := ec.Size(), ec.Rank()
	for step := 1; step < size; step *= 2 {
		class := exchange(ec, (rank+step)%size, (rank-step+size)%size, memory{}, memory{}, 1)
		if class != mpitransport.OK {
			return class
		}
	}
	return nil
}
