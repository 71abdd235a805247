package arena

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"cmpi/flush"
)

// errBlank is what validate says of a pool that could be formatted.
var errBlank = faultf(ErrBlank, "empty or all zero")

func isBlank(err error) bool { return errors.Is(err, errBlank) }

// formatSettle is how long a host that wants to format a blank device waits
// between writing its claim and looking whether it still stands. It must be
// longer than another host may take from its look at the claim line to its own
// claim's being visible; who finds that it took longer than half of it withdraws
// (see claimFormat).
const formatSettle = 20 * time.Millisecond

// formatBlank formats a file or device that reads as zero, or waits for whoever
// is doing so, and maps it.
func (a *Arena) formatBlank(deadline time.Time) error {
	ok, err := a.back.lockByteWait(unix.F_WRLCK, formatByte, deadline)
	if err != nil {
		return err
	}
	if !ok {
		return faultf(ErrLockTimeout, "another process is formatting it")
	}
	defer a.back.unlockByte(formatByte)
	if a.view != nil {
		if err := a.unmap(); err != nil {
			return err
		}
	}
	// Another process of this kernel may have been faster.
	if err := a.validate(); !isBlank(err) {
		return err
	}
	if a.back.device {
		return a.formatDevice(deadline)
	}
	return a.formatFile()
}

// validateSettled validates while nobody of this kernel formats.
func (a *Arena) validateSettled(deadline time.Time) error {
	ok, err := a.back.lockByteWait(unix.F_WRLCK, formatByte, deadline)
	if err != nil {
		return err
	}
	if !ok {
		return faultf(ErrLockTimeout, "another process is formatting it")
	}
	defer a.back.unlockByte(formatByte)
	if a.view != nil {
		if err := a.unmap(); err != nil {
			return err
		}
	}
	return a.validate()
}

// unmap drops the mapping, so that validate can start again.
func (a *Arena) unmap() error {
	if a.meta != a.view {
		a.meta.Close()
	}
	a.view.Close()
	err := unix.Munmap(a.mem)
	a.view, a.meta, a.mem = nil, nil, nil
	return err
}

// formatFile gives an empty file its size and formats it. The file has its
// former length again when that fails.
func (a *Arena) formatFile() (err error) {
	blank, err := a.back.blank()
	if err != nil {
		return err
	}
	if !blank {
		return ErrNotPool
	}
	former := a.back.size
	size := former
	if size == 0 {
		if size = a.cfg.Size; size == 0 {
			size = DefaultSize
		}
	}
	g, ok := geometryFor(size)
	if !ok {
		return faultf(ErrTooSmall, "%d bytes", size)
	}
	a.geo = g
	defer func() {
		if err != nil {
			a.back.truncate(0) // gives back what was reserved
			a.back.truncate(former)
		}
	}()
	if former == 0 {
		if err := a.back.truncate(g.size); err != nil {
			return err
		}
	}
	if err := a.back.reserve(0, g.lazyOff); err != nil {
		return err
	}
	var flags uint32
	if a.back.release(g.objLo, granule) == nil {
		flags = flagZeroFree // a fresh file reads as zero, and can be made to again
	}
	if err := a.openViews(); err != nil {
		return err
	}
	return a.initialize(flags)
}

// formatDevice formats a blank device, unless another host turns out to do it.
func (a *Arena) formatDevice(deadline time.Time) error {
	g, ok := geometryFor(a.back.size)
	if !ok {
		return faultf(ErrTooSmall, "%d bytes", a.back.size)
	}
	if a.view == nil {
		a.geo = g
		if err := a.openViews(); err != nil {
			return err
		}
	}
	for {
		if a.claimFormat() {
			return a.initialize(0)
		}
		time.Sleep(formatSettle)
		b := make([]byte, granule)
		a.read(b, superOff)
		if !zero(b) {
			return a.adopt(b[:superLen])
		}
		if time.Now().After(deadline) {
			return faultf(ErrLockTimeout, "another host began to format it and did not finish")
		}
	}
}

// claimFormat elects one of several hosts that find a blank device at the same
// moment. Before a device is formatted it has no place that belongs to any host,
// and agreeing through plain registers is impossible without timing, so this is
// Fischer's algorithm: see "nobody", write our token, wait longer than anyone
// can be between that look and that write, and see whether it is still ours. A
// host that was held up between the two withdraws its token.
func (a *Arena) claimFormat() bool {
	token := randomWord()
	looked := time.Now()
	if a.load(formatOff) != 0 {
		return false
	}
	a.store(formatOff, token)
	if time.Since(looked) > formatSettle/2 {
		if a.load(formatOff) == token {
			a.store(formatOff, 0)
		}
		return false
	}
	time.Sleep(formatSettle)
	return a.load(formatOff) == token
}

// initialize writes everything before the lazy area, the superblock last.
func (a *Arena) initialize(flags uint32) error {
	g := &a.geo
	a.super = superblock{flags: flags, size: g.size, created: time.Now().UnixNano()}
	le.PutUint64(a.super.id[:], randomWord())
	le.PutUint64(a.super.id[8:], randomWord())
	a.tag = le.Uint64(a.super.id[:8])
	a.seen = newSeen(g.lazyPages)

	if a.back.device {
		a.clearRange(controlOff+lineSize, g.lazyOff-controlOff-lineSize)
		a.store(claimsOff, 0)
	}
	sums := make([]byte, g.sumLen)
	for i := range g.groups {
		n := uint16(g.groupLen(i))
		summary{n, n, n, n}.encode(sums[i*sumSize:])
	}
	a.write(g.sumOff, sums)
	a.root = root{}
	a.writeRoot(root{})

	var b [superLen]byte
	a.super.encode(&b, g)
	a.fence()
	a.write(superOff, b[:])
	a.fence()
	return nil
}

// Format makes a new pool of a file, a device or an older pool, whatever is in
// it. Everything in it is lost. It refuses with ErrInUse when a process of this
// kernel has it open; other hosts can't be seen.
func Format(c Config) error {
	return wrap(opFormat, c.Path, "", format(c, false))
}

// Replace is Format for a pool that may be in use. A file is replaced by
// another one of its name, owner and mode: who has the old one open keeps it. A
// device is formatted under whoever uses it, which breaks jobs that run on it.
func Replace(c Config) error {
	return wrap(opFormat, c.Path, "", replace(c))
}

func replace(c Config) error {
	var old unix.Stat_t
	if err := unix.Stat(c.Path, &old); err != nil || old.Mode&unix.S_IFMT != unix.S_IFREG {
		return format(c, true)
	}
	if c.Size == 0 {
		c.Size = old.Size
	}
	// In the same folder, so that it is the same filesystem.
	f, err := os.CreateTemp(filepath.Dir(c.Path), filepath.Base(c.Path)+".new-*")
	if err != nil {
		return openFault(err)
	}
	defer f.Close()
	path := c.Path
	c.Path = f.Name()
	if err = format(c, false); err == nil {
		if err = f.Chown(int(old.Uid), int(old.Gid)); err == nil {
			err = f.Chmod(os.FileMode(old.Mode & 0o777))
		}
		if err == nil {
			err = os.Rename(c.Path, path)
		}
		if err != nil {
			err = openFault(err)
		}
	}
	if err != nil {
		os.Remove(c.Path)
	}
	return err
}

// format formats c's pool; with force also a device that is in use.
func format(c Config, force bool) error {
	b, err := openBacking(c.Path, true, c.asDevice)
	if err != nil {
		return err
	}
	defer b.close()
	ok, err := b.lockByte(unix.F_WRLCK, usersByte)
	if err != nil {
		return err
	}
	if !ok && !(force && b.device) {
		return faultf(ErrInUse, "by a process of this host")
	}
	if !b.device {
		size := b.size
		if c.Size != 0 {
			size = c.Size
		}
		if size == 0 {
			size = DefaultSize
		}
		if _, ok := geometryFor(size); !ok {
			return faultf(ErrTooSmall, "%d bytes", size)
		}
		if err := b.truncate(0); err != nil {
			return err
		}
		c.Size = size
	} else if err := wipe(b); err != nil {
		return err
	}
	b.unlockByte(usersByte)
	c.Create = true
	a, err := open(c)
	if err != nil {
		return err
	}
	return a.Close()
}

// wipe makes a device blank.
func wipe(b *backing) error {
	g, ok := geometryFor(b.size)
	if !ok {
		return faultf(ErrTooSmall, "%d bytes", b.size)
	}
	a := &Arena{cfg: Config{Mode: flush.Flush}, back: b, geo: g}
	if err := a.openViews(); err != nil {
		return err
	}
	a.clearRange(superOff, 2*granule)
	a.fence()
	return a.unmap()
}

// RemoveIfIdle unlinks the pool file at path if it is a pool and no process of
// this kernel has it open; removed tells. Whoever opens it at the same moment
// either keeps it or gets a new one. A device is never removed.
func RemoveIfIdle(path string) (removed bool, err error) {
	b, err := openBacking(path, false, false)
	if err != nil {
		return false, wrap(opRemove, path, "", err)
	}
	defer b.close()
	if b.device {
		return false, nil
	}
	head, err := b.head(superLen)
	if err == nil {
		var s superblock
		_, err = s.decode(head, b.size)
	}
	if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) && !errors.Is(err, ErrTruncated) {
		return false, wrap(opRemove, path, "", err)
	}
	ok, err := b.lockByte(unix.F_WRLCK, usersByte)
	if err != nil || !ok || b.unlinked() {
		return false, wrap(opRemove, path, "", err)
	}
	if err := os.Remove(path); err != nil {
		return false, wrap(opRemove, path, "", openFault(err))
	}
	return true, nil
}
