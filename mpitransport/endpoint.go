package mpitransport

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"cmpi/arena"
	"cmpi/flush"
	"cmpi/ringq"
	"cmpi/stats"
)

// Wildcards and the null process; the values are those of the MPICH ABI so
// that the common case needs no translation.
const (
	AnySource = -2
	AnyTag    = -1
	ProcNull  = -1
)

// Config says who this rank is and how it shall communicate. Fields without a
// comment on their zero value must be set.
type Config struct {
	Rank, Size int
	// Arena is the pool that all ranks of the job share.
	Arena *arena.Arena
	// Near is memory of this machine, coherent among the ranks that share it and
	// made for this job; nil if there is none. Neighbours are those ranks, the
	// same on each of them; this rank may be left out. They talk through it and
	// not through the pool.
	Near       *arena.Arena
	Neighbours []int32
	// Job names the job's objects in the pool; unique among the jobs that use
	// the pool at one time.
	Job string
	// Host identifies the coherence domain of this rank.
	Host [16]byte
	// LocalRanks is how many ranks run on this machine; with more of them than
	// processors a waiting rank yields at once. 0 means Size.
	LocalRanks int
	// EagerLimit is the longest message in bytes that travels through the
	// ring itself; 0 means DefaultEagerLimit in coherent memory, else
	// FlaggedEagerLimit.
	EagerLimit int
	// RingLines and SeqBits shape the rings (package ringq); 0 means default.
	RingLines, SeqBits int
	Ring               ringq.Kind
	// StageLimit bounds the pool memory in bytes that this rank stages
	// messages in; 0 means DefaultStageLimit.
	StageLimit int64
	// SingleCopyMin is the shortest message in bytes that the kernel copies
	// from process to process; 0 means DefaultSingleCopyMin.
	SingleCopyMin int64
	// NoSingleCopy forbids copies from process to process by the kernel.
	NoSingleCopy bool
	// Fast is where the state that a C fast path shares with the engine lies:
	// one FastPeer per rank of the job; nil for memory of the engine's own.
	Fast []FastPeer
	// FastRequests are the receives that the fast path may hold, FastRequests
	// of them or none.
	FastRequests []FastRequest
	// Stats are the counters to count in; nil: none.
	Stats *stats.Table
	// Timeout bounds the wait for the other ranks in New and Finalize; 0 means
	// DefaultTimeout.
	Timeout time.Duration
	// DeadAfter is how long another rank gives no sign of life before Dead is
	// called for it, from a goroutine of the engine's own; 0 means never. Both or
	// none must be set, the time the same on all ranks.
	DeadAfter time.Duration
	Dead      func(rank int32, silent time.Duration)
}

// Defaults of Config.
const (
	// DefaultEagerLimit: up to here a copy into the ring and one out of it
	// beat a staging block, which costs a second cache miss each way (16 KiB:
	// 2.8 µs either way, 32 KiB: 3.6 and 5.1 µs). It fits the ring twice.
	DefaultEagerLimit = 32 << 10
	// FlaggedEagerLimit is the same where every line carries a flag.
	FlaggedEagerLimit = 16 << 10
	// DefaultSingleCopyMin: below it two copies through the pool, which the
	// two ranks make at one time, beat the kernel's one (64 KiB back and
	// forth: 9.6 and 36 µs; in a stream 14.6 and 9.9 GB/s; at 512 KiB 14.9 and
	// 18.3 GB/s).
	DefaultSingleCopyMin = 512 << 10
	// DefaultRingLines makes rings of 128 KiB, two thousand small messages
	// ahead of the receiver.
	DefaultRingLines  = 2048
	DefaultStageLimit = 64 << 20
	DefaultTimeout    = 60 * time.Second
)

// Endpoint is one rank's end of a job. Unless SetThreaded was called, one
// thread at a time may use it.
type Endpoint struct {
	cfg       Config
	rank      int
	size      int
	pool      *medium // through which ranks talk that aren't neighbours
	near      *medium // through which neighbours talk; nil: the pool
	nearFirst int32   // the first of the neighbours
	epoch     uint64
	bseq      uint64 // barriers entered

	watcher *watcher // nil: nobody is watched

	threaded bool
	locked   atomic.Uint32
	oversub  bool // more ranks than processors here

	peers     []peer
	requests  requestTable
	completed *Request // stands for every send that was complete at once
	comms     map[uint64]*Comm
	lastComm  *Comm
	freed     []*Comm // freed by the program, receives still posted
	orphans   map[uint64][]*Message
	contexts  uint64

	in        inbound
	bells     bells
	ownBell   [2]int64 // of this rank, in the root objects of pool and near
	sending   int      // peers with a send queue or control messages
	stagedIn  []*inflow
	stagedOut []*Request  // sends that still write into their block
	blocks    []*outBlock // staged, to be emptied by their receivers
	nextReap  int         // which of them is looked at next
	staged    int64       // bytes of staging blocks in use
	blockGen  uint16
	singleIn  []*Request
	singleOut []*Request
	rescues   []*Request // receives whose data the sender must send itself

	passes uint64   // progress passes
	want   *Request // what the caller of the running pass waits for, nil if unknown
	stats  Stats
	probe  *uint64 // the word that peers try to read

	header   ringq.Header // scratch of the poll loop
	arriving Message      // the message being placed
	messages *Message     // free ones, linked by next
	scratch  []byte       // one chunk of a message that must be packed or skipped
	first    [flush.LinePayload]byte
	iov      iovecs
}

// Stats counts what an endpoint has done.
type Stats struct {
	Eager, Staged, Single, Streamed uint64 // messages sent, by protocol
	Received                        uint64 // messages taken from rings
	RingsOut, RingsIn               int
	PoolBytes                       int64 // pool memory this rank holds
	NearBytes                       int64 // the same of the memory of this machine
	Broken                          int   // peers whose shared memory made no sense
}

// Errors of New and Finalize.
var (
	ErrTimeout = errors.New("the other ranks did not arrive in time")
	ErrJob     = errors.New("the job's root object is not one of this library")
)

// New joins the job: rank 0 makes its root object, the others open it, and all
// meet in the paper's initialization barrier (section 3.4). It is collective
// over the ranks of the job.
func New(c Config) (*Endpoint, error) {
	if c.Size < 1 || c.Rank < 0 || c.Rank >= c.Size || c.Size > maxRanks {
		return nil, fmt.Errorf("rank %d of %d: want 0 ≤ rank < size ≤ %d", c.Rank, c.Size, maxRanks)
	}
	setDefaults(&c)
	// Better now, on all ranks, than when two first talk.
	if err := (ringq.Config{Lines: c.RingLines, SeqBits: c.SeqBits}).Check(); err != nil {
		return nil, fmt.Errorf("CMPI_RING_LINES=%d with CMPI_SEQ_BITS=%d: %w", c.RingLines, c.SeqBits, err)
	}
	e := &Endpoint{cfg: c, rank: c.Rank, size: c.Size, pool: newMedium(c.Arena, &c),
		comms: map[uint64]*Comm{}, orphans: map[uint64][]*Message{},
		scratch: make([]byte, scratchSize),
		probe:   new(uint64),
	}
	if c.Near != nil {
		e.near = newMedium(c.Near, &c)
	}
	e.contexts = selfNumber
	e.peers = make([]peer, c.Size)
	if c.Fast == nil {
		c.Fast = make([]FastPeer, c.Size)
	}
	for i := range e.peers {
		e.peers[i].world = int32(i)
		e.peers[i].medium = e.pool
		e.peers[i].fast = &c.Fast[i]
		if c.Stats != nil {
			e.peers[i].fast.OutBusy, e.peers[i].fast.InBusy = FastCounted, FastCounted
		}
	}
	e.completed = e.requests.get()
	e.completed.kind = sendRequest
	e.completed.status = EmptyStatus
	e.completed.done.Store(true)
	if c.FastRequests != nil {
		e.requests.free = nil // the rest of the first chunk is the fast path's
	}
	if err := e.join(time.Now().Add(c.Timeout)); err != nil {
		return nil, err
	}
	e.startWatch()
	return e, nil
}

// maxRanks keeps a rank inside a context id (24 bits).
const maxRanks = 1 << 24

func setDefaults(c *Config) {
	if c.LocalRanks == 0 {
		c.LocalRanks = c.Size
	}
	if c.SingleCopyMin == 0 {
		c.SingleCopyMin = DefaultSingleCopyMin
	}
	if c.RingLines == 0 {
		c.RingLines = DefaultRingLines
	}
	if c.StageLimit == 0 {
		c.StageLimit = DefaultStageLimit
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
}

// join makes or opens the root object and enters the first barrier. A root of
// an earlier job of the same name whose rank 0 is gone never lets its barrier
// pass, so a rank that waits there keeps looking whether the name has got a
// new root, and joins that.
func (e *Endpoint) join(deadline time.Time) error {
	*e.probe = 0
	// Until the others have told which processors they have: a rank that only
	// yields in the first barrier keeps one that has used up its time slice from
	// getting there, for tens of ms.
	cpus := allowedCPUs()
	e.oversub = e.cfg.LocalRanks > cpus.count()
	if e.rank == 0 {
		if err := e.createRoot(); err != nil {
			return err
		}
	}
	for {
		if e.rank != 0 {
			epoch, err := e.pool.openRoot(e.cfg.Job, e.size, 0, deadline)
			if err != nil {
				return err
			}
			e.epoch = epoch
		}
		e.publishInfo()
		e.bseq = 0
		again := time.Now().Add(100 * time.Millisecond)
		if deadline.Before(again) || e.rank == 0 {
			again = deadline
		}
		err := e.barrier(again)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			return err
		}
	}
	e.readInfos()
	if err := e.joinNear(deadline); err != nil {
		return err
	}
	e.findBells()
	return nil
}

func (e *Endpoint) createRoot() error {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return fmt.Errorf("drawing the job's epoch: %w", err)
	}
	e.epoch = binary.LittleEndian.Uint64(b[:]) | 1
	return e.pool.createRoot(e.cfg.Job, e.size, e.epoch)
}

func (e *Endpoint) publishInfo() {
	*e.probe = e.epoch
	i := rankInfo{pid: uint32(os.Getpid()), uid: uint32(os.Getuid()), pidns: pidNamespace(),
		probe: uint64(uintptr(unsafe.Pointer(e.probe))), host: e.cfg.Host, cpus: allowedCPUs()}
	l := i.encode(e.epoch)
	e.pool.view.PutLine(e.pool.rootAt(infoAt(e.rank, e.size)), unsafe.Pointer(&l))
	e.pool.view.Fence()
}

func (e *Endpoint) readInfos() {
	var l [line]byte
	for i := range e.peers {
		at := e.pool.rootAt(infoAt(i, e.size))
		// The barrier says that it is there.
		if e.pool.getFresh(&l, at, e.epoch) {
			e.peers[i].info = decodeRankInfo(&l)
		}
	}
	var cpus cpuSet
	for i := range e.peers {
		// Ranks of other coherence domains count where they are known to
		// share this machine all the same.
		if e.peers[i].info.host == e.cfg.Host || e.cfg.LocalRanks >= e.size {
			cpus.add(e.peers[i].info.cpus)
		}
	}
	e.oversub = e.cfg.LocalRanks > cpus.count()
}

// Oversubscribed reports whether more ranks than processors share this
// machine, so that a rank that waits should yield at once.
func (e *Endpoint) Oversubscribed() bool { return e.oversub }

// Barrier returns when all ranks of the job have entered it: each rank
// publishes its own sequence number and waits until all others' have reached
// it (section 3.4 of the paper). Messages keep moving meanwhile.
func (e *Endpoint) Barrier() error {
	e.lock()
	defer e.unlock()
	return e.barrier(time.Time{})
}

// barrierWord keys a sequence number with the epoch, so that an earlier job's
// number in the same memory is no number.
func (e *Endpoint) barrierWord(seq uint64) uint64 { return e.epoch<<barrierSeqBits | seq }

const barrierSeqBits = 24

func (e *Endpoint) enterBarrier() {
	e.bseq++
	e.pool.view.Store64(e.pool.rootAt(barrierAt(e.rank, e.size)), e.barrierWord(e.bseq))
}

// barrier waits until the deadline; a zero one means for ever.
func (e *Endpoint) barrier(deadline time.Time) error {
	e.enterBarrier()
	spins := 0
	for i := range e.size {
		for !e.arrived(i) {
			if e.progress() {
				spins = 0
				continue
			}
			if e.oversub {
				spins++
				e.countWait(napped)
				osSleep(napTime) // the others need the processor to get here
			} else {
				spins = e.idle(spins)
			}
			if !deadline.IsZero() && spins%64 == 0 && time.Now().After(deadline) {
				return fmt.Errorf("barrier, waiting for rank %d: %w", i, ErrTimeout)
			}
		}
	}
	return nil
}

// arrived reports whether rank i has entered this rank's barrier. The numbers
// wrap; a rank is never more than one barrier ahead.
func (e *Endpoint) arrived(i int) bool {
	w := e.pool.view.Load64(e.pool.rootAt(barrierAt(i, e.size)))
	if w>>barrierSeqBits != e.epoch<<barrierSeqBits>>barrierSeqBits {
		return false
	}
	const mask = 1<<barrierSeqBits - 1
	return (w-e.bseq)&mask < mask/2
}

// Finalize waits for all ranks, so that what they have staged can be received,
// and gives back what this rank holds of the pool. It is collective. With
// ErrTimeout the pool memory has been given back all the same.
func (e *Endpoint) Finalize() error {
	e.lock()
	defer e.unlock()
	deadline := time.Now().Add(e.cfg.Timeout)
	err := e.drain(deadline)
	if err == nil {
		err = e.barrier(deadline)
	}
	if err == nil {
		// A rank that is still in the barrier looks at the others' rings and
		// boards. They stay until all are past it and look at nothing any more.
		e.enterBarrier()
		err = e.awaitAll(deadline)
	}
	return errors.Join(err, e.leave(deadline))
}

// awaitAll waits until all ranks have entered the barrier. No message moves.
func (e *Endpoint) awaitAll(deadline time.Time) error {
	for i, spins := 0, 0; i < e.size; {
		if e.arrived(i) {
			i++
			continue
		}
		if spins = e.idle(spins); spins%64 == 0 && time.Now().After(deadline) {
			return fmt.Errorf("barrier, waiting for rank %d: %w", i, ErrTimeout)
		}
	}
	return nil
}

// drain moves on until nothing that this rank has sent needs it any more.
func (e *Endpoint) drain(deadline time.Time) error {
	for spins := 0; e.sending > 0 || len(e.stagedOut) > 0 || len(e.singleOut) > 0; {
		if e.progress() {
			spins = 0
			continue
		}
		spins = e.idle(spins)
		if spins%64 == 0 && time.Now().After(deadline) {
			return fmt.Errorf("sends that nobody received at the end of the job: %w", ErrTimeout)
		}
	}
	return nil
}

// leave gives this rank's pool memory back. Rank 0 destroys the root last,
// when nobody looks at it any more.
func (e *Endpoint) leave(deadline time.Time) error {
	err := e.destroySegments()
	e.endWatch()
	e.enterBarrier()
	if e.rank == 0 {
		_ = e.awaitAll(deadline) // who isn't here by then is dead or will find nothing
		err = errors.Join(err, e.pool.root.Destroy())
	}
	return err
}

// Abandon gives back this rank's pool memory without waiting for anyone: the
// way out when the ranks have decided together not to begin. In the middle of a job
// it would take away what the others are using.
func (e *Endpoint) Abandon() {
	_ = e.destroySegments()
	e.endWatch()
	if e.rank == 0 {
		_ = e.pool.root.Destroy()
	}
}

// Stats reports the endpoint's counters.
func (e *Endpoint) Stats() Stats {
	s := e.stats
	s.PoolBytes = e.pool.segs.bytes()
	if e.near != nil {
		s.NearBytes = e.near.segs.bytes()
	}
	return s
}

// Rank is this rank's number in the job, Size how many there are.
func (e *Endpoint) Rank() int { return e.rank }

// Size is the number of ranks of the job.
func (e *Endpoint) Size() int { return e.size }

// SetThreaded makes every entry take the engine's lock (MPI_THREAD_MULTIPLE).
// Call it before a second thread uses the endpoint.
func (e *Endpoint) SetThreaded(on bool) { e.threaded = on }

// lock is a spin lock, not a mutex: its holders are threads of the application
// inside short calls, and parking a goroutine that is bound to a C thread
// costs more than the longest of them.
func (e *Endpoint) lock() {
	if !e.threaded {
		return
	}
	for spins := 0; !e.locked.CompareAndSwap(0, 1); spins++ {
		e.awaitLock(spins)
	}
}

// awaitLock is one look's wait. It is a call of its own, which the compiler
// begins with a look at the goroutine's preemption request. Without one in the
// loop, the garbage collector could wait for this goroutine for ever: its signal
// nearly always meets a thread that yields at the end of the system call, where
// Go can't stop it. And the holder of the lock may be waiting for the collector,
// for memory.
//
//go:noinline
func (e *Endpoint) awaitLock(spins int) {
	if spins < 64 && !e.oversub {
		flush.Pause()
	} else {
		osYield()
	}
}

func (e *Endpoint) unlock() {
	if e.threaded {
		e.locked.Store(0)
	}
}
