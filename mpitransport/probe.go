package mpitransport

import (
	"unsafe"

	"cmpi/mpitransport/datatype"
)

// Iprobe reports whether a message that a receive with these arguments would
// match has arrived, and its envelope.
func (e *Endpoint) Iprobe(c *Comm, src, tag int32) (Status, bool, Class) {
	if src == ProcNull {
		return nullStatus, true, OK
	}
	if cl := checkRecv(c, 0, src, tag); cl != OK {
		return Status{}, false, cl
	}
	e.lock()
	defer e.unlock()
	m := e.look(c, src, tag)
	if m == nil {
		return Status{}, false, OK
	}
	return m.Status(), true, OK
}

// look finds an unexpected message, after one pass of progress when none is
// there yet.
func (e *Endpoint) look(c *Comm, src, tag int32) *Message {
	m := c.unexp.find(src, tag)
	if m == nil {
		e.progress()
		m = c.unexp.find(src, tag)
	}
	return m
}

// Probe waits for a message to arrive and tells its envelope.
func (e *Endpoint) Probe(c *Comm, src, tag int32) (Status, Class) {
	for spins := 0; ; spins = e.idle(spins) {
		if st, ok, cl := e.Iprobe(c, src, tag); ok || cl != OK {
			return st, cl
		}
	}
}

// Improbe takes the message that a receive with these arguments would match
// out of the queue, so that only Mrecv or Imrecv can receive it. For ProcNull
// it returns nil and true (MPI_MESSAGE_NO_PROC).
func (e *Endpoint) Improbe(c *Comm, src, tag int32) (*Message, Status, bool, Class) {
	if src == ProcNull {
		return nil, nullStatus, true, OK
	}
	if cl := checkRecv(c, 0, src, tag); cl != OK {
		return nil, Status{}, false, cl
	}
	e.lock()
	defer e.unlock()
	m := e.look(c, src, tag)
	if m == nil {
		return nil, Status{}, false, OK
	}
	c.unexp.remove(m)
	return m, m.Status(), true, OK
}

// Mprobe waits until Improbe succeeds.
func (e *Endpoint) Mprobe(c *Comm, src, tag int32) (*Message, Status, Class) {
	for spins := 0; ; spins = e.idle(spins) {
		if m, st, ok, cl := e.Improbe(c, src, tag); ok || cl != OK {
			return m, st, cl
		}
	}
}

// Imrecv starts to receive a message that Improbe took out.
func (e *Endpoint) Imrecv(m *Message, buf unsafe.Pointer, count int64, t *datatype.Type) (*Request, Class) {
	if count < 0 {
		return nil, ErrCount
	}
	e.lock()
	defer e.unlock()
	r := e.newRecv(m.comm, buf, count, t)
	if r == nil {
		return nil, ErrNoMem
	}
	r.rank, r.tag = m.src, m.tag
	r.peer = m.peer
	e.deliver(m, r)
	return r, OK
}

// Comm is the communicator that the message was sent on.
func (m *Message) Comm() *Comm { return m.comm }

// Cancel takes a posted receive that has not been matched out of its queue; it
// then completes as cancelled. Sends are never cancelled: they may be under
// way (MPI-4.0 section 3.8.4 lets them succeed or be cancelled).
func (e *Endpoint) Cancel(r *Request) {
	e.lock()
	defer e.unlock()
	if r.kind != recvRequest || r.list == nil {
		return
	}
	r.comm.posted.remove(r)
	r.status = EmptyStatus
	r.status.Cancelled = true
	e.complete(r)
}
