package main

// #include "shim.h"
// #include "requests.h"
import "C"

import (
	"unsafe"

	"cmpi/mpitransport"
)

// buffered is the send mode above the engine's (p2p.c has the same numbers).
const buffered = mpitransport.Ready + 1

// newTransfer translates the arguments of a send or receive. The error is an
// MPI error class.
func newTransfer(c *C.struct_cmpi_comm, buf unsafe.Pointer, count C.intptr_t, typ, rank, tag C.int) (transfer, int32) {
	t, class := typeOf(int32(typ))
	if class != success {
		if count != 0 || typ != C.MPICH_DATATYPE_NULL {
			return transfer{}, class
		}
		t = byteType // MPICH looks at no type for no data
	}
	if buf == nil && count > 0 && t.TrueLB() == 0 && t.Size() > 0 {
		return transfer{}, errBuffer
	}
	return transfer{cm: commOf(c), buf: buf, count: int64(count), t: t, rank: int32(rank), tag: int32(tag)}, success
}

func (x *transfer) isend(m mpitransport.Mode) (*mpitransport.Request, mpitransport.Class) {
	return endpoint.Isend(x.cm.engine, x.buf, x.count, x.t, x.rank, x.tag, m)
}

func (x *transfer) irecv() (*mpitransport.Request, mpitransport.Class) {
	return endpoint.Irecv(x.cm.engine, x.buf, x.count, x.t, x.rank, x.tag)
}

// pack copies the data of a send, so that its buffer is free at once.
func (x *transfer) pack() int32 {
	n, err := x.t.Total(x.count)
	if err != nil {
		return number(mpitransport.ErrCount)
	}
	data := make([]byte, max(n, 1))
	x.t.Pack(unsafe.Pointer(&data[0]), x.buf, x.count, 0, n)
	x.buf, x.count, x.t = unsafe.Pointer(&data[0]), n, byteType
	return success
}

// ---- blocking -------------------------------------------------------------------

//export goSend
func goSend(c *C.struct_cmpi_comm, buf unsafe.Pointer, count C.intptr_t, typ, dest, tag, mode C.int) C.int {
	defer rescue()
	x, class := newTransfer(c, buf, count, typ, dest, tag)
	if class != success {
		return C.int(class)
	}
	m := mpitransport.Mode(mode)
	if m == buffered {
		return C.int(bsend(&x))
	}
	if !hostRuns() {
		return C.int(number(endpoint.Send(x.cm.engine, x.buf, x.count, x.t, x.rank, x.tag, m)))
	}
	r, cl := x.isend(m)
	if cl != mpitransport.OK {
		return C.int(number(cl))
	}
	return C.int(number(waitFor(r).Err))
}

//export goRecv
func goRecv(c *C.struct_cmpi_comm, buf unsafe.Pointer, count C.intptr_t, typ, source, tag C.int, status C.intptr_t) C.int {
	defer rescue()
	x, class := newTransfer(c, buf, count, typ, source, tag)
	if class != success {
		return C.int(class)
	}
	r, cl := x.irecv()
	if cl != mpitransport.OK {
		return C.int(number(cl))
	}
	st := waitFor(r)
	putStatus(uintptr(status), st)
	return C.int(number(st.Err))
}

// waitFor waits for a request of no other user and gives it back.
func waitFor(r *mpitransport.Request) mpitransport.Status {
	if !r.Done() {
		request{engine: r}.wait()
	}
	st := r.Status()
	endpoint.Release(r)
	return st
}

//export goSendrecv
func goSendrecv(c *C.struct_cmpi_comm, sbuf unsafe.Pointer, scount C.intptr_t, stype, dest, stag C.int,
	rbuf unsafe.Pointer, rcount C.intptr_t, rtype, source, rtag C.int, status C.intptr_t) C.int {
	defer rescue()
	send, class := newTransfer(c, sbuf, scount, stype, dest, stag)
	if class != success {
		return C.int(class)
	}
	recv, class := newTransfer(c, rbuf, rcount, rtype, source, rtag)
	if class != success {
		return C.int(class)
	}
	return C.int(sendrecv(&send, &recv, uintptr(status)))
}

//export goSendrecvReplace
func goSendrecvReplace(c *C.struct_cmpi_comm, buf unsafe.Pointer, count C.intptr_t, typ, dest, stag, source, rtag C.int, status C.intptr_t) C.int {
	defer rescue()
	send, recv, class := replaceTransfers(c, buf, count, typ, dest, stag, source, rtag)
	if class != success {
		return C.int(class)
	}
	return C.int(sendrecv(&send, &recv, uintptr(status)))
}

// replaceTransfers are a send of a copy of the buffer and a receive into it.
func replaceTransfers(c *C.struct_cmpi_comm, buf unsafe.Pointer, count C.intptr_t, typ, dest, stag, source, rtag C.int) (send, recv transfer, class int32) {
	if send, class = newTransfer(c, buf, count, typ, dest, stag); class != success {
		return
	}
	recv = send
	recv.rank, recv.tag = int32(source), int32(rtag)
	class = send.pack()
	return
}

// startBoth starts both halves of a Sendrecv, or neither.
func startBoth(send, recv *transfer) (s, r *mpitransport.Request, class int32) {
	r, cl := recv.irecv()
	if cl != mpitransport.OK {
		return nil, nil, number(cl)
	}
	s, cl = send.isend(mpitransport.Standard)
	if cl != mpitransport.OK {
		endpoint.Cancel(r)
		endpoint.Release(r)
		return nil, nil, number(cl)
	}
	return s, r, success
}

func sendrecv(send, recv *transfer, status uintptr) int32 {
	s, r, class := startBoth(send, recv)
	if class != success {
		return class
	}
	sent := waitFor(s)
	received := waitFor(r)
	putStatus(status, received)
	if received.Err != mpitransport.OK {
		return number(received.Err)
	}
	return number(sent.Err)
}

// ---- nonblocking ----------------------------------------------------------------

//export goIsend
func goIsend(c *C.struct_cmpi_comm, buf unsafe.Pointer, count C.intptr_t, typ, dest, tag, mode C.int, handle *C.int) C.int {
	defer rescue()
	x, class := newTransfer(c, buf, count, typ, dest, tag)
	if class != success {
		return C.int(class)
	}
	m := mpitransport.Mode(mode)
	if m == buffered {
		if class = bsend(&x); class == success {
			*handle = C.int(newComposite(x.cm.handle).publish())
		}
		return C.int(class)
	}
	r, cl := x.isend(m)
	return started(r, cl, x.cm, handle)
}

//export goIrecv
func goIrecv(c *C.struct_cmpi_comm, buf unsafe.Pointer, count C.intptr_t, typ, source, tag C.int, handle *C.int) C.int {
	defer rescue()
	x, class := newTransfer(c, buf, count, typ, source, tag)
	if class != success {
		return C.int(class)
	}
	r, cl := x.irecv()
	return started(r, cl, x.cm, handle)
}

func started(r *mpitransport.Request, cl mpitransport.Class, cm *comm, handle *C.int) C.int {
	if cl == mpitransport.OK {
		*handle = C.int(handleOf(r, cm))
	}
	return C.int(number(cl))
}

//export goIsendrecv
func goIsendrecv(c *C.struct_cmpi_comm, sbuf unsafe.Pointer, scount C.intptr_t, stype, dest, stag C.int,
	rbuf unsafe.Pointer, rcount C.intptr_t, rtype, source, rtag C.int, handle *C.int) C.int {
	defer rescue()
	send, class := newTransfer(c, sbuf, scount, stype, dest, stag)
	if class != success {
		return C.int(class)
	}
	recv, class := newTransfer(c, rbuf, rcount, rtype, source, rtag)
	if class != success {
		return C.int(class)
	}
	return C.int(isendrecv(&send, &recv, handle))
}

//export goIsendrecvReplace
func goIsendrecvReplace(c *C.struct_cmpi_comm, buf unsafe.Pointer, count C.intptr_t, typ, dest, stag, source, rtag C.int, handle *C.int) C.int {
	defer rescue()
	send, recv, class := replaceTransfers(c, buf, count, typ, dest, stag, source, rtag)
	if class != success {
		return C.int(class)
	}
	return C.int(isendrecv(&send, &recv, handle))
}

func isendrecv(send, recv *transfer, handle *C.int) int32 {
	s, r, class := startBoth(send, recv)
	if class == success {
		*handle = C.int(newComposite(recv.cm.handle, r, s).publish())
	}
	return class
}

// ---- persistent -------------------------------------------------------------------

//export goSendInit
func goSendInit(c *C.struct_cmpi_comm, buf unsafe.Pointer, count C.intptr_t, typ, dest, tag, mode C.int, handle *C.int) C.int {
	defer rescue()
	m := mpitransport.Mode(mode)
	return persistent(c, buf, count, typ, dest, tag, handle, func(x *transfer, p *composite) int32 {
		if m == buffered {
			copied := *x
			return bsend(&copied)
		}
		r, cl := x.isend(m)
		p.parts[0] = r
		return number(cl)
	})
}

//export goRecvInit
func goRecvInit(c *C.struct_cmpi_comm, buf unsafe.Pointer, count C.intptr_t, typ, source, tag C.int, handle *C.int) C.int {
	defer rescue()
	return persistent(c, buf, count, typ, source, tag, handle, func(x *transfer, p *composite) int32 {
		r, cl := x.irecv()
		p.parts[0] = r
		return number(cl)
	})
}

// persistent makes an inactive request that start begins.
func persistent(c *C.struct_cmpi_comm, buf unsafe.Pointer, count C.intptr_t, typ, rank, tag C.int, handle *C.int, start func(*transfer, *composite) int32) C.int {
	x, class := newTransfer(c, buf, count, typ, rank, tag)
	if class != success {
		return C.int(class)
	}
	p := newComposite(x.cm.handle)
	p.persistent, p.active = true, false
	p.restart = func(p *composite) int32 { return start(&x, p) }
	*handle = C.int(p.publish())
	return success
}

//export goStart
func goStart(n C.int, array *C.int) C.uint64_t {
	defer rescue()
	list := handles((*int32)(unsafe.Pointer(array)), int(n))
	for i, h := range list {
		if !isOurs(h) {
			if rc := C.cmpi_host_start((*C.int)(unsafe.Pointer(&list[i]))); rc != success {
				return raised(int32(rc))
			}
			continue
		}
		r, ok := requestOf(h)
		if !ok || r.comp == nil || !r.comp.persistent || r.comp.active {
			return raise(commWorld, errRequest)
		}
		if class := r.comp.restart(r.comp); class != success {
			return raise(r.comp.comm, class)
		}
		r.comp.active = true
	}
	return success
}

// ---- probing ----------------------------------------------------------------------

// goProbe is Probe with flag nil, else Iprobe.
//
//export goProbe
func goProbe(c *C.struct_cmpi_comm, source, tag C.int, flag *C.int, status C.intptr_t) C.int {
	defer rescue()
	cm := commOf(c)
	for w := (waiter{}); ; w.step() {
		st, found, cl := endpoint.Iprobe(cm.engine, int32(source), int32(tag))
		if found {
			putStatus(uintptr(status), st)
		}
		if flag != nil {
			*flag = truth(found)
			polled()
		}
		if found || flag != nil || cl != mpitransport.OK {
			return C.int(number(cl))
		}
	}
}

// goMprobe is Mprobe with flag nil, else Improbe.
//
//export goMprobe
func goMprobe(c *C.struct_cmpi_comm, source, tag C.int, flag, handle *C.int, status C.intptr_t) C.int {
	defer rescue()
	cm := commOf(c)
	for w := (waiter{}); ; w.step() {
		m, st, found, cl := endpoint.Improbe(cm.engine, int32(source), int32(tag))
		*handle = messageNull
		if found {
			*handle = C.int(messageHandle(m, cm))
			putStatus(uintptr(status), st)
		}
		if flag != nil {
			*flag = truth(found)
			polled()
		}
		if found || flag != nil || cl != mpitransport.OK {
			return C.int(number(cl))
		}
	}
}

// messageHandle is the handle of a matched message; nil is the one from
// MPI_PROC_NULL, which the host knows how to receive.
func messageHandle(m *mpitransport.Message, cm *comm) int32 {
	if m == nil {
		return messageNoProc
	}
	return int32(firstHandle + messageIDs + messages.add(&message{m, cm}, nil))
}

// takeMessage finds a message by its handle; it can be received once.
func takeMessage(handle *C.int) *message {
	id := uint32(*handle) - firstHandle - messageIDs
	m := messages.get(id)
	if m != nil {
		messages.put(id)
		*handle = messageNull
	}
	return m
}

func imrecv(buf unsafe.Pointer, count C.intptr_t, typ C.int, handle *C.int) (*mpitransport.Request, *comm, uint64) {
	t, class := typeOf(int32(typ))
	if class != success {
		return nil, nil, packError(commWorld, class)
	}
	m := takeMessage(handle)
	if m == nil {
		return nil, nil, packError(commWorld, errRequest)
	}
	r, cl := endpoint.Imrecv(m.engine, buf, int64(count), t)
	if cl != mpitransport.OK {
		return nil, nil, packError(m.cm.handle, number(cl))
	}
	return r, m.cm, success
}

//export goMrecv
func goMrecv(buf unsafe.Pointer, count C.intptr_t, typ C.int, handle *C.int, status C.intptr_t) C.uint64_t {
	defer rescue()
	r, cm, e := imrecv(buf, count, typ, handle)
	if e != success {
		return C.uint64_t(e)
	}
	st := waitFor(r)
	putStatus(uintptr(status), st)
	return raise(cm.handle, number(st.Err))
}

//export goImrecv
func goImrecv(buf unsafe.Pointer, count C.intptr_t, typ C.int, handle, req *C.int) C.uint64_t {
	defer rescue()
	r, cm, e := imrecv(buf, count, typ, handle)
	if e == success {
		*req = C.int(handleOf(r, cm))
	}
	return C.uint64_t(e)
}

func truth(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
