package program

// Kind is what an operation does.
type Kind int

// The kinds. Their numbers are the executor's too.
const (
	Send Kind = iota
	Isend
	SendInit
	Recv
	Irecv
	RecvInit
	Sendrecv
	SendrecvReplace // both halves with Send's layout
	Isendrecv
	IsendrecvReplace
	Start // persistent requests, several by Startall
	Probe
	Iprobe
	ProbeRecv  // Probe, then Recv of what it found
	IprobeRecv // Iprobe, then Recv of what it found, if anything
	Mprobe
	Improbe
	Mrecv // nothing if Improbe found nothing
	Imrecv
	Wait
	Test
	Waitall
	Testall
	Waitany
	Testany
	Waitsome
	Testsome
	GetStatus
	Cancel // receives; nothing if the request has been completed
	Free   // sends; likewise
	Barrier
	Ibarrier
	MakeFresh // the communicator Fresh
	Sleep

	// Of epilogues only.
	CancelRest // cancels and completes the requests that are still active
	Drain      // receives the messages that are missing of Count
	FreeRest   // frees inactive persistent requests
	FreeFresh  // frees the communicator Fresh

	Kinds = iota
)

var kindNames = [Kinds]string{"Send", "Isend", "Send_init", "Recv", "Irecv", "Recv_init", "Sendrecv", "Sendrecv_replace",
	"Isendrecv", "Isendrecv_replace", "Start", "Probe", "Iprobe", "Probe+Recv", "Iprobe+Recv", "Mprobe", "Improbe", "Mrecv", "Imrecv",
	"Wait", "Test", "Waitall", "Testall", "Waitany", "Testany", "Waitsome", "Testsome", "Request_get_status", "Cancel",
	"Request_free", "Barrier", "Ibarrier", "Comm_dup", "sleep", "Cancel+Wait", "drain", "Request_free", "Comm_free"}

func (k Kind) String() string { return kindNames[k] }

// Sends reports whether the operation, or the request that it makes, has a
// sending half.
func (k Kind) Sends() bool {
	switch k {
	case Send, Isend, SendInit, Sendrecv, SendrecvReplace, Isendrecv, IsendrecvReplace:
		return true
	}
	return false
}

// Receives reports whether the operation, or the request that it makes, takes a
// message by a pattern.
func (k Kind) Receives() bool {
	switch k {
	case Recv, Irecv, RecvInit, Sendrecv, SendrecvReplace, Isendrecv, IsendrecvReplace, ProbeRecv, IprobeRecv, Mprobe, Improbe:
		return true
	}
	return false
}

// Probes reports whether the operation only looks at a message.
func (k Kind) Probes() bool { return k == Probe || k == Iprobe }

// Conditional reports an operation that takes a message only if there is one.
func (k Kind) Conditional() bool { return k == IprobeRecv || k == Improbe }

// Replaces reports an operation that receives into the buffer that it sends.
func (k Kind) Replaces() bool { return k == SendrecvReplace || k == IsendrecvReplace }

// MakesRequest reports whether the operation fills its slot.
func (k Kind) MakesRequest() bool {
	switch k {
	case Isend, SendInit, Irecv, RecvInit, Isendrecv, IsendrecvReplace, Imrecv, Ibarrier:
		return true
	}
	return false
}

// Completes reports whether the operation is a wait or a test.
func (k Kind) Completes() bool { return k >= Wait && k <= Testsome }

// Tests reports a test, which returns at once.
func (k Kind) Tests() bool {
	switch k {
	case Test, Testall, Testany, Testsome:
		return true
	}
	return false
}

// partial reports a wait that may leave some of its requests incomplete.
func (k Kind) partial() bool { return k == Waitany || k == Waitsome }

// Collective reports an operation that all ranks execute at the same step.
func (k Kind) Collective() bool { return k == Barrier || k == Ibarrier || k == MakeFresh }
