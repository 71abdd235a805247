// Package probe sees whether processes reach one another through a pool: each
// opens it, and rank 0 exchanges lines with every other one, in a coherence mode
// as jobs use it. The processes may be on one host or on several.
//
// They meet in an object that rank 0 makes. Every line of it has one writer:
//
//	line 0        of rank 0: how many ranks there are
//	line 1+3r     rank 0 to rank r
//	line 2+3r     rank r to rank 0
//	line 3+3r     rank r: where another process may try to read its memory
package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sort"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cmpi/arena"
	"cmpi/flush"
)

// Config is what a process of a probe must know.
type Config struct {
	Pool       arena.Config
	Token      string // the same for all processes of one probe, and no other's
	Rank, Size int
	Make       bool // rank 0 makes the pool, and removes it
	Timeout    time.Duration
}

// Report is what a process of a probe has seen.
type Report struct {
	Rank   int    `json:"rank"`
	Host   string `json:"host"`   // its name
	Domain string `json:"domain"` // its coherence domain
	PoolID string `json:"pool_id,omitempty"`
	Mode   string `json:"mode"`
	Error  string `json:"error,omitempty"` // what kept it from going on
	Trips  []Trip `json:"trips,omitempty"` // of rank 0
}

// Trip is what rank 0 has seen of another rank.
type Trip struct {
	Peer  int     `json:"peer"`
	Micro float64 `json:"microseconds"` // median of a round trip
	Error string  `json:"error,omitempty"`
	// SingleCopy says whether the kernel copies between the two: "works", or why
	// not; empty: they have no kernel in common.
	SingleCopy string `json:"single_copy,omitempty"`
}

// rounds of the exchange: enough for a median, a few milliseconds.
const rounds = 300

const line = flush.LineSize

// Run takes part in a probe. The report's Error says what went wrong.
func Run(c Config) Report {
	r := Report{Rank: c.Rank, Domain: arena.FormatID(c.Pool.HostID), Mode: c.Pool.Mode.String()}
	r.Host, _ = os.Hostname() // a name for people
	if err := run(c, &r); err != nil {
		r.Error = err.Error()
	}
	return r
}

// errLate means that another process did not do its part in time.
var errLate = errors.New("no answer in time")

func run(c Config, r *Report) error {
	if c.Rank < 0 || c.Rank >= c.Size {
		return fmt.Errorf("rank %d of %d", c.Rank, c.Size)
	}
	deadline := time.Now().Add(c.Timeout)
	a, err := open(c, deadline)
	if err != nil {
		return err
	}
	defer a.Close()
	if c.Make && c.Rank == 0 {
		defer os.Remove(c.Pool.Path)
	}
	r.PoolID = arena.FormatID(a.ID())
	o, err := meet(c, a, deadline)
	if err != nil {
		return err
	}
	if c.Rank == 0 {
		defer o.Destroy()
		for peer := 1; peer < c.Size; peer++ {
			r.Trips = append(r.Trips, ask(a.View(), o, peer, deadline))
		}
		return nil
	}
	return answer(a.View(), o, c.Rank, deadline)
}

// open opens the pool, once rank 0 has made it if it is to.
func open(c Config, deadline time.Time) (*arena.Arena, error) {
	if c.Make && c.Rank == 0 {
		c.Pool.Create, c.Pool.Size = true, arena.MinSize
	}
	for {
		a, err := arena.Open(c.Pool)
		unmade := errors.Is(err, arena.ErrMissing) || errors.Is(err, arena.ErrBlank)
		if !unmade || !c.Make || time.Now().After(deadline) {
			return a, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// meet makes or finds the object in which the exchange is.
func meet(c Config, a *arena.Arena, deadline time.Time) (*arena.Object, error) {
	name, size := "probe/"+c.Token, int64(line*(1+3*c.Size))
	if c.Rank == 0 {
		return a.Create(name, size)
	}
	for {
		o, err := a.OpenObject(name)
		switch {
		case err == nil && o.Size() < size:
			return nil, fmt.Errorf("object %s has %d bytes instead of %d", name, o.Size(), size)
		case !errors.Is(err, arena.ErrNotFound):
			return o, err
		case time.Now().After(deadline):
			return nil, fmt.Errorf("rank 0 has not made its object: %w", errLate)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// at is the address of a line of the object.
func at(o *arena.Object, n int) unsafe.Pointer { return unsafe.Add(o.Addr(), n*line) }

// message is round n of the exchange in one direction: its bytes follow from
// both, so that a stale or torn line shows.
func message(n uint64, salt byte) (l [line]byte) {
	for i := range flush.LinePayload {
		l[i] = byte(n)*31 + byte(i)*7 + salt
	}
	binary.LittleEndian.PutUint64(l[flush.LinePayload:], n)
	return l
}

const (
	toPeer   = 1 // salt of messages of rank 0
	fromPeer = 2 // of the others
)

func send(v *flush.View, to unsafe.Pointer, n uint64, salt byte) {
	l := message(n, salt)
	v.PutLine(to, unsafe.Pointer(&l[0]))
	v.Fence()
}

// receive waits for round n and compares what comes.
func receive(v *flush.View, from unsafe.Pointer, n uint64, salt byte, deadline time.Time) error {
	var got [line]byte
	for spins := 0; !v.GetLine(unsafe.Pointer(&got[0]), from, n); spins++ {
		if spins < 1000 {
			flush.Pause()
			continue
		}
		runtime.Gosched()
		if time.Now().After(deadline) {
			return errLate
		}
		if spins > 2000 { // somebody else has the processor that it needs
			time.Sleep(50 * time.Microsecond)
		}
	}
	want := message(n, salt)
	for i := range flush.LinePayload {
		if got[i] != want[i] {
			return fmt.Errorf("byte %d of message %d is %#x instead of %#x", i, n, got[i], want[i])
		}
	}
	return nil
}

// lastRound is when rank 0 has seen all that it wants to.
const lastRound = rounds + 1

// ask exchanges lines with a peer, as rank 0.
func ask(v *flush.View, o *arena.Object, peer int, deadline time.Time) (t Trip) {
	t.Peer = peer
	var took []time.Duration
	for n := uint64(1); n <= rounds; n++ {
		start := time.Now()
		send(v, at(o, 1+3*peer), n, toPeer)
		if err := receive(v, at(o, 2+3*peer), n, fromPeer, deadline); err != nil {
			t.Error = err.Error()
			return t
		}
		took = append(took, time.Since(start))
	}
	sort.Slice(took, func(i, j int) bool { return took[i] < took[j] })
	t.Micro = float64(took[len(took)/2].Nanoseconds()) / 1000
	t.SingleCopy = trySingleCopy(v, at(o, 3+3*peer))
	// The peer must be done with the object before it is destroyed.
	send(v, at(o, 1+3*peer), lastRound, toPeer)
	if err := receive(v, at(o, 2+3*peer), lastRound, fromPeer, deadline); err != nil {
		t.Error = err.Error()
	}
	return t
}

// answer is the other side of ask.
func answer(v *flush.View, o *arena.Object, rank int, deadline time.Time) error {
	offerMemory(v, at(o, 3+3*rank))
	for n := uint64(1); n <= rounds; n++ {
		if err := receive(v, at(o, 1+3*rank), n, toPeer, deadline); err != nil {
			return err
		}
		send(v, at(o, 2+3*rank), n, fromPeer)
	}
	err := receive(v, at(o, 1+3*rank), lastRound, toPeer, deadline)
	if err == nil {
		send(v, at(o, 2+3*rank), lastRound, fromPeer)
	}
	return err
}

// bait is what another process may try to read.
var bait uint64 = 0x62616974

// offered is the word of a line that offers memory.
const offered = 1

func offerMemory(v *flush.View, to unsafe.Pointer) {
	var l [line]byte
	boot := arena.BootID()
	copy(l[:], boot[:])
	binary.LittleEndian.PutUint64(l[16:], uint64(os.Getpid()))
	binary.LittleEndian.PutUint64(l[24:], uint64(uintptr(unsafe.Pointer(&bait))))
	binary.LittleEndian.PutUint64(l[32:], pidNamespace())
	binary.LittleEndian.PutUint64(l[flush.LinePayload:], offered)
	v.PutLine(to, unsafe.Pointer(&l[0]))
	v.Fence()
}

// trySingleCopy reads the memory that a peer has offered.
func trySingleCopy(v *flush.View, from unsafe.Pointer) string {
	var l [line]byte
	if !v.GetLine(unsafe.Pointer(&l[0]), from, offered) {
		return ""
	}
	if boot := arena.BootID(); [16]byte(l[:16]) != boot {
		return ""
	}
	if binary.LittleEndian.Uint64(l[32:]) != pidNamespace() {
		return "they are in different pid namespaces"
	}
	var word uint64
	local := []unix.Iovec{{Base: (*byte)(unsafe.Pointer(&word)), Len: 8}}
	remote := []unix.RemoteIovec{{Base: uintptr(binary.LittleEndian.Uint64(l[24:])), Len: 8}}
	n, err := unix.ProcessVMReadv(int(binary.LittleEndian.Uint64(l[16:])), local, remote, 0)
	switch {
	case err != nil:
		return err.Error()
	case n != 8 || word != bait:
		return "the kernel copied something else"
	}
	return "works"
}

// pidNamespace is the inode number of our pid namespace, 0 when unknown.
func pidNamespace() uint64 {
	var st unix.Stat_t
	if unix.Stat("/proc/self/ns/pid", &st) != nil {
		return 0
	}
	return st.Ino
}
