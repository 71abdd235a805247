package arena

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// backing is the file or device that a pool lives in.
type backing struct {
	f      *os.File
	device bool  // answers only mmap and locks: no ftruncate, fallocate, read, write
	size   int64 // bytes there are to map
	align  int64 // mappings are a multiple of it

	pretend bool // tests: a file is to be treated as a device
}

// sysRoot is where sysfs is; tests put another tree there.
var sysRoot = "/sys"

// openBacking opens path, creating an empty file if create is set.
func openBacking(path string, create, pretend bool) (*backing, error) {
	if path == "" {
		return nil, faultf(ErrMissing, "no path given")
	}
	fl := os.O_RDWR
	if create {
		fl |= os.O_CREATE
	}
	// O_NONBLOCK: a FIFO or tape named by mistake must not block us here.
	f, err := openFile(path, fl|unix.O_NONBLOCK|unix.O_CLOEXEC)
	if err != nil {
		return nil, openFault(err)
	}
	b := &backing{f: f, align: int64(os.Getpagesize()), pretend: pretend}
	if err := b.refresh(); err != nil {
		f.Close()
		return nil, err
	}
	return b, nil
}

// openFile is os.OpenFile without Go's poller (see readProc).
func openFile(path string, fl int) (*os.File, error) {
	for {
		fd, err := unix.Open(path, fl, 0o600)
		if err == unix.EINTR {
			continue
		}
		if err == nil {
			err = unix.SetNonblock(fd, false) // what NewFile takes for a wish to poll
		}
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), path), nil
	}
}

// openFault names what open(2) answered.
func openFault(err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return ErrMissing
	case errors.Is(err, os.ErrPermission), errors.Is(err, unix.EROFS):
		return ErrPermission
	case errors.Is(err, unix.EISDIR):
		return faultf(ErrUnusable, "a directory")
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return ErrNoSpace
	}
	return faultf(ErrUnusable, "%v", errnoOf(err))
}

// errnoOf strips path and operation, which the Error names already.
func errnoOf(err error) error {
	var no syscall.Errno
	if errors.As(err, &no) {
		return no
	}
	return err
}

// refresh learns kind and size.
func (b *backing) refresh() error {
	var st unix.Stat_t
	if err := unix.Fstat(b.fd(), &st); err != nil {
		return faultf(ErrUnusable, "%v", err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		b.size, b.device = st.Size, b.pretend
		return nil
	case unix.S_IFCHR:
		size, align, err := daxSize(sysRoot, unix.Major(st.Rdev), unix.Minor(st.Rdev))
		if err != nil {
			return err
		}
		b.device, b.size, b.align = true, size, align
		return nil
	}
	return faultf(ErrUnusable, "neither a file nor a devdax device")
}

// daxSize asks sysfs for the size and alignment, in bytes, of the devdax
// device with the given number. fstat and lseek answer 0 for one.
func daxSize(root string, major, minor uint32) (size, align int64, err error) {
	dir := filepath.Join(root, "dev/char", fmt.Sprintf("%d:%d", major, minor))
	if size, err = sysInt(filepath.Join(dir, "size")); err == nil {
		align, err = sysInt(filepath.Join(dir, "align"))
	}
	if err != nil || size <= 0 || align <= 0 || align&(align-1) != 0 {
		return 0, 0, faultf(ErrUnusable, "a character device that is not a devdax one")
	}
	return size, align, nil
}

func sysInt(path string) (int64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(b)), 0, 64)
}

func (b *backing) fd() int { return int(b.f.Fd()) }

// unlinked says whether the file lost its name since it was opened.
func (b *backing) unlinked() bool {
	var st unix.Stat_t
	return !b.device && unix.Fstat(b.fd(), &st) == nil && st.Nlink == 0
}

// head reads the first bytes of a file, fewer than n when it is shorter. It
// uses read(2): looking at a hole through a mapping allocates memory, and dies
// with SIGBUS when there is none.
func (b *backing) head(n int64) ([]byte, error) {
	buf := make([]byte, n)
	k, err := b.f.ReadAt(buf, 0)
	if err != nil && err != io.EOF {
		return nil, faultf(ErrUnusable, "%v", errnoOf(err))
	}
	return buf[:k], nil
}

// blank says whether a file is empty or holds only zeroes. Holes are skipped,
// so that a sparse file costs nothing.
func (b *backing) blank() (bool, error) {
	buf := make([]byte, 1<<16)
	for off := int64(0); off < b.size; {
		data, err := unix.Seek(b.fd(), off, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return true, nil
		}
		if err == nil {
			off = data
		}
		n, err := b.f.ReadAt(buf, off)
		if err != nil && err != io.EOF {
			return false, faultf(ErrUnusable, "%v", errnoOf(err))
		}
		if !zero(buf[:n]) {
			return false, nil
		}
		if n == 0 {
			return true, nil
		}
		off += int64(n)
	}
	return true, nil
}

// truncate sets the length of a file, sparsely.
func (b *backing) truncate(size int64) error {
	if err := b.f.Truncate(size); err != nil {
		return spaceFault(err)
	}
	b.size = size
	return nil
}

// reservePiece bounds one fallocate, so that a signal that interrupts it loses
// little work.
const reservePiece = 64 << 20

// reserve makes the filesystem promise [off, off+n), so that touching it can't
// fail. On a device there is nothing to promise.
func (b *backing) reserve(off, n int64) error {
	for n > 0 && !b.device {
		piece := min(n, reservePiece)
		err := b.fallocate(0, off, piece)
		if errors.Is(err, unix.EOPNOTSUPP) {
			return nil // a filesystem that can't promise: nothing better to do
		}
		if err != nil {
			return spaceFault(err)
		}
		off, n = off+piece, n-piece
	}
	return nil
}

// release gives the memory of [off, off+n) back; it reads as zero afterwards.
func (b *backing) release(off, n int64) error {
	return b.fallocate(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}

func (b *backing) fallocate(mode uint32, off, n int64) error {
	for {
		if err := unix.Fallocate(b.fd(), mode, off, n); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// spaceFault names what ftruncate or fallocate answered.
func spaceFault(err error) error {
	switch err = errnoOf(err); {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT), errors.Is(err, unix.EFBIG):
		return ErrNoSpace
	}
	return faultf(ErrUnusable, "%v", err)
}

// mapAll maps the first size bytes, rounded up to the alignment.
func (b *backing) mapAll(size int64) ([]byte, error) {
	n := roundUp(size, b.align)
	if b.device && n > b.size {
		return nil, faultf(ErrTruncated, "%d of %d bytes", b.size, n)
	}
	m, err := unix.Mmap(b.fd(), 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, faultf(ErrUnusable, "mmap of %d bytes: %v", n, err)
	}
	return m, nil
}

func (b *backing) close() error { return b.f.Close() }

// Bytes of the pool's file, far behind its end, on which processes of one
// kernel lock one another out with open-file-description locks. The kernel
// drops them when their holder dies. Devdax devices take them too.
const (
	lockBase   = int64(1) << 61
	formatByte = lockBase     // exclusive: formatting
	usersByte  = lockBase + 1 // shared: an arena is open
	hostByte   = lockBase + 2 // + 0 … hostBytes-1, exclusive: this host's part in the pool lock
	hostBytes  = int64(1) << 60
	ownerByte  = hostByte + hostBytes // + 0 … ownerBytes-1, shared: an owner of objects lives
	ownerBytes = int64(1) << 60
)

// lockByte takes (typ F_WRLCK, F_RDLCK) or drops (F_UNLCK) a lock on one byte;
// false when another open file holds it.
func (b *backing) lockByte(typ int16, at int64) (bool, error) {
	fl := unix.Flock_t{Type: typ, Whence: io.SeekStart, Start: at, Len: 1}
	for {
		switch err := unix.FcntlFlock(b.f.Fd(), unix.F_OFD_SETLK, &fl); {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
			return false, nil
		default:
			return false, faultf(ErrUnusable, "file lock: %v", err)
		}
	}
}

// heldByte reports whether another open file has a lock on the byte.
func (b *backing) heldByte(at int64) (bool, error) {
	for {
		fl := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: at, Len: 1}
		err := unix.FcntlFlock(b.f.Fd(), unix.F_OFD_GETLK, &fl)
		if !errors.Is(err, unix.EINTR) {
			return fl.Type != unix.F_UNLCK, err
		}
	}
}

// lockByteWait is lockByte until deadline; false when it passed.
func (b *backing) lockByteWait(typ int16, at int64, deadline time.Time) (bool, error) {
	for w := (waiter{deadline: deadline}); ; {
		if ok, err := b.lockByte(typ, at); ok || err != nil {
			return ok, err
		}
		if !w.wait() {
			return false, nil
		}
	}
}

func (b *backing) unlockByte(at int64) { b.lockByte(unix.F_UNLCK, at) }
