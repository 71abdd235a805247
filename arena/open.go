package arena

import (
	"crypto/rand"
	"encoding/hex"
	"hash/fnv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cmpi/flush"
)

// Config says which pool to open and how.
type Config struct {
	Path   string
	Size   int64 // of a file pool when it is made, in bytes; 0: DefaultSize. Ignored for devices
	Create bool  // make the file if it is missing; format it if it is empty or all zero

	// Unlinked opens a file that has lost its name all the same: the pool that a
	// job has made for itself, by way of /proc/PID/fd.
	Unlinked bool

	Mode  flush.Mode    // how writes become visible to others
	Flush flush.Options // for the View

	// HostID names the host. All processes of one kernel give the same, normally
	// BootID, which is what zero stands for, and no process of another does.
	HostID [16]byte

	// Owner is recorded in objects that are created through this arena. Zero
	// stands for this process.
	Owner Owner

	// Private says that nobody but the processes of one job, which end together,
	// will ever use the pool: no signs of life are given in it.
	Private bool

	// Evicted is called, if not nil, when this host has been taken for dead and
	// evicted: objects of this process are gone, and their space may already be
	// another's. It may end the process.
	Evicted func()

	// LockTimeout bounds the wait for the pool lock while those who have it give signs
	// of life; 0: DefaultLockTimeout.
	LockTimeout time.Duration

	// BuryAfter is how long after LockTimeout a host that is in the way must have given
	// no sign of life to be taken for dead, so that the lock goes on to the next; 0:
	// SilentAfter + SilentWatch if LockTimeout is 0 too, otherwise never.
	BuryAfter time.Duration

	// Delayed is called, if not nil, when the pool lock has been waited for longer than
	// LockTimeout because of a host that gives no sign of life, with the host and the
	// time after which it is taken for dead.
	Delayed func(host string, after time.Duration)

	asDevice bool // tests: treat a file as a device
}

// DefaultLockTimeout is far beyond any honest hold of the lock (some 5 µs, a
// millisecond at worst), so that reaching it means that a host died.
const DefaultLockTimeout = 10 * time.Second

// Arena is an open pool. Its methods may be called from any goroutine; Close
// must not run at the same time as others, and nothing may touch the pool's
// memory after it.
type Arena struct {
	cfg  Config
	back *backing
	view *flush.View // what View gives: the mode that was asked for
	meta *flush.View // for metadata: view, or a flushing one (see openViews)
	mem  []byte      // the mapping

	geo   geometry   // immutable
	super superblock // immutable
	tag   uint64     // first 8 bytes of the pool id
	seen  seen

	hostByte int64

	mu        sync.Mutex // first storey of the pool lock; guards what follows
	closed    bool
	host      host
	root      root
	inherited bool // the last holder of this host's lock line died with it
	pledged   bool // signs of life are given
	beatStop  chan struct{}
	beatDone  chan struct{}
	alloc     allocator
}

// Open opens the pool at c.Path. It fails with ErrMissing, ErrNotPool,
// ErrVersion, ErrTruncated, ErrTooSmall, ErrPermission, ErrCorrupt, ErrNoSpace
// or ErrUnusable. What is not a pool is never modified: only an empty file, or a
// file or device that reads as zero, is formatted, and only with c.Create.
//
// Opening takes well below a millisecond and reads one page, whatever the size.
func Open(c Config) (*Arena, error) {
	a, err := open(c)
	return a, wrap(opOpen, c.Path, "", err)
}

func open(c Config) (*Arena, error) {
	if c.LockTimeout == 0 {
		c.LockTimeout = DefaultLockTimeout
		if c.BuryAfter == 0 {
			c.BuryAfter = SilentAfter + SilentWatch
		}
	}
	if c.HostID == ([16]byte{}) {
		c.HostID = BootID()
	}
	if c.Owner == (Owner{}) {
		c.Owner = Self(c.HostID)
	}
	deadline := time.Now().Add(c.LockTimeout)
	for {
		b, err := openBacking(c.Path, c.Create, c.asDevice)
		if err != nil {
			return nil, err
		}
		a := &Arena{cfg: c, back: b, hostByte: hostByteFor(c.HostID)}
		a.host.entry = -1
		again, err := a.attach(deadline)
		if err == nil && !again {
			return a, nil
		}
		a.detach()
		if !again {
			return nil, err
		}
	}
}

// attach validates or formats, and maps. again means that the file lost its
// name to RemoveIfIdle meanwhile and must be opened anew.
func (a *Arena) attach(deadline time.Time) (again bool, err error) {
	ok, err := a.back.lockByteWait(unix.F_RDLCK, usersByte, deadline)
	if err != nil {
		return false, err
	}
	if !ok {
		return false, faultf(ErrLockTimeout, "another process is removing it")
	}
	if !a.cfg.Unlinked && a.back.unlinked() {
		return true, nil
	}
	if err = a.validate(); err != nil && !isBlank(err) {
		// Perhaps seen while another process of this kernel formats it.
		err = a.validateSettled(deadline)
	}
	if a.cfg.Create && isBlank(err) {
		err = a.formatBlank(deadline)
	}
	return false, err
}

// validate reads the superblock and, if it is good, maps the pool.
func (a *Arena) validate() error {
	if err := a.back.refresh(); err != nil {
		return err
	}
	if a.back.device {
		return a.validateDevice()
	}
	b, err := a.back.head(superLen)
	if err != nil {
		return err
	}
	if zero(b) {
		return errBlank
	}
	if err := a.adopt(b); err != nil {
		return err
	}
	return a.openViews()
}

// validateDevice does it through a mapping, the only way into a device.
func (a *Arena) validateDevice() error {
	g, ok := geometryFor(a.back.size)
	if !ok {
		return faultf(ErrTooSmall, "%d bytes", a.back.size)
	}
	a.geo = g
	if err := a.openViews(); err != nil {
		return err
	}
	b := make([]byte, granule)
	a.read(b, superOff)
	if zero(b) {
		return errBlank
	}
	return a.adopt(b[:superLen])
}

// adopt takes geometry and identity from the superblock in b.
func (a *Arena) adopt(b []byte) error {
	g, err := a.super.decode(b, a.back.size)
	if err != nil {
		return err
	}
	a.geo = g
	a.tag = le.Uint64(a.super.id[:8])
	a.seen = newSeen(g.lazyPages)
	return nil
}

// openViews maps the pool, of which the size is known.
//
// Metadata of a device is always flushed, whatever mode the caller has for its
// own data: a job within one host may be coherent, and the pool still be shared
// with another host's job, to which names and space must make sense.
func (a *Arena) openViews() (err error) {
	if a.mem, err = a.back.mapAll(a.geo.size); err != nil {
		return err
	}
	mem := a.mem[:a.geo.size:a.geo.size]
	if a.view, err = flush.NewView(mem, a.cfg.Mode, a.cfg.Flush); err != nil {
		return faultf(ErrUnusable, "%v", err)
	}
	a.meta = a.view
	if a.back.device && a.cfg.Mode == flush.Coherent {
		if a.meta, err = flush.NewView(mem, flush.Flush, a.cfg.Flush); err != nil {
			return faultf(ErrUnusable, "%v", err)
		}
	}
	return nil
}

// detach undoes attach, wherever it stopped.
func (a *Arena) detach() error {
	var err error
	if a.meta != nil && a.meta != a.view {
		err = a.meta.Close()
	}
	if a.view != nil {
		if e := a.view.Close(); err == nil {
			err = e
		}
	}
	if a.mem != nil {
		if e := unix.Munmap(a.mem); err == nil {
			err = e
		}
	}
	a.view, a.meta, a.mem = nil, nil, nil
	if e := a.back.close(); err == nil {
		err = e
	}
	return err
}

// Close unmaps the pool. Objects stay in it. Closing twice is no error.
func (a *Arena) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.closed = true
	a.endBeats()
	return a.detach()
}

// View is the way into the pool's memory for whoever uses objects.
func (a *Arena) View() *flush.View { return a.view }

// Path is where the pool was opened.
func (a *Arena) Path() string { return a.cfg.Path }

// Device says whether the pool is a devdax device, whose metadata is always
// flushed.
func (a *Arena) Device() bool { return a.back.device }

// HostID is the coherence domain as which the pool was opened.
func (a *Arena) HostID() [16]byte { return a.cfg.HostID }

// ID is the pool's identity, made when it was formatted.
func (a *Arena) ID() [16]byte { return a.super.id }

// Size is the length of the pool in bytes.
func (a *Arena) Size() int64 { return a.geo.size }

// Bounds gives the offsets between which every object lies.
func (a *Arena) Bounds() (lo, hi int64) { return a.geo.objLo, a.geo.objHi }

// randomWord is never zero.
func randomWord() uint64 {
	for {
		var b [8]byte
		rand.Read(b[:]) // never fails, says its documentation
		if w := le.Uint64(b[:]); w != 0 {
			return w
		}
	}
}

// formatID writes an id as people know boot ids.
func formatID(id [16]byte) string {
	s := hex.EncodeToString(id[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// parseID is the reverse.
func parseID(s string) (id [16]byte, ok bool) {
	var digits []byte
	for i := range len(s) {
		if c := s[i]; c != '-' && c != '\n' {
			digits = append(digits, c)
		}
	}
	n, err := hex.Decode(id[:], digits[:min(len(digits), 32)])
	return id, err == nil && n == 16 && len(digits) == 32
}

// HostID is the id of a coherence domain: that of the given name, or this
// running kernel's when name is empty.
func HostID(name string) (id [16]byte) {
	if name == "" {
		return BootID()
	}
	h := fnv.New128a()
	h.Write([]byte(name))
	h.Sum(id[:0])
	return id
}

// KernelID is the id under which the processes of one kernel open a pool: inside
// it, process ids and file locks mean something. A coherence domain of the given
// name may span several kernels (hardware that keeps them coherent), and a test
// may divide one.
func KernelID(name string) (id [16]byte) {
	boot := BootID()
	if name == "" {
		return boot
	}
	h := fnv.New128a()
	h.Write([]byte(name))
	h.Write(boot[:])
	h.Sum(id[:0])
	return id
}

// FormatID writes the id of a pool or a host as people know boot ids.
func FormatID(id [16]byte) string { return formatID(id) }

// ParseID is the reverse of FormatID; false when s is no id.
func ParseID(s string) (id [16]byte, ok bool) { return parseID(s) }

// BootID identifies this running kernel; zero when it doesn't say.
func BootID() [16]byte { return bootID() }

var bootID = sync.OnceValue(func() [16]byte {
	b, err := readProc("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return [16]byte{}
	}
	id, _ := parseID(string(b))
	return id
})
