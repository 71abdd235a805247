package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cmpi/arena"
	"cmpi/mpitransport"
	"cmpi/settings"
)

// initFlags are what the user asked cmpi pool init for.
type initFlags struct {
	poolFlags
	size, mode, owner string
	force             bool
}

// initReport is what cmpi pool init tells.
type initReport struct {
	Path    string `json:"path"`
	ID      string `json:"id"`
	Did     string `json:"did"` // made, formatted or replaced
	Device  bool   `json:"device"`
	Size    int64  `json:"size"`
	Free    int64  `json:"free"` // bytes for objects
	Slots   int64  `json:"slots"`
	Mode    string `json:"mode,omitempty"` // of a file, octal
	Lost    int    `json:"objects_lost"`   // that the former pool held
	NotPool bool   `json:"overwrote_other_content,omitempty"`
}

func poolInitCommand() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init PATH",
		Short: "Make a pool of a file or a devdax device",
		Long: `Makes a pool file, or formats a devdax device or a file that is there. Jobs make
their pools themselves, so this is for a pool of another owner, mode or size, and
to format a device once before the first job, or anew.

A pool in which a process has, or may have, something is left alone, and so is
anything that is not a pool; --force overwrites both. A file is then replaced by a
new one, so that processes which have the old one open keep it; jobs that run on a
device break.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var r *initReport
			if err := guarded(args[0], func() (err error) { r, err = f.init(cmd, args[0]); return err }); err != nil {
				return err
			}
			if f.asJSON {
				return writeJSON(cmd.OutOrStdout(), r)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), r)
			return err
		},
	}
	f.add(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.size, "size", "", "size of a file, as 64M or 16G (default: CMPI_POOL_SIZE, or what the file has)")
	fs.StringVar(&f.mode, "mode", "", "permissions of a file, octal (default: 0600, or what the file has)")
	fs.StringVar(&f.owner, "owner", "", "owner of a file, as USER, USER:GROUP or :GROUP")
	fs.BoolVar(&f.force, "force", false, "overwrite a pool that is in use, or what is not a pool")
	return cmd
}

// String is one line for people.
func (r *initReport) String() string {
	kind, mode := "file", ", mode "+r.Mode
	if r.Device {
		kind, mode = "device", ""
	}
	s := fmt.Sprintf("%s pool %s: %s of %s%s, %s for objects, %d slots, id %s", r.Did, r.Path, kind, sizeText(r.Size), mode, sizeText(r.Free), r.Slots, r.ID)
	if r.Lost > 0 {
		s += "; " + plural(r.Lost, "object") + " of the former pool are gone"
	}
	if r.NotPool {
		s += "; what was there before is gone"
	}
	return s
}

func (f *initFlags) init(cmd *cobra.Command, path string) (*initReport, error) {
	c, err := poolConfig(path)
	if err != nil {
		return nil, err
	}
	c.LockTimeout = f.timeout
	st, err := os.Stat(path)
	missing := errors.Is(err, os.ErrNotExist)
	if err == nil && st.Mode()&os.ModeCharDevice != 0 {
		if f.size != "" || f.mode != "" || f.owner != "" {
			return nil, fmt.Errorf("%s is a device: --size, --mode and --owner are for files; udev sets owner and mode of devices", path)
		}
	}
	uid, gid, err := parseOwner(f.owner)
	if err != nil {
		return nil, err
	}
	mode, err := parseMode(f.mode)
	if err != nil {
		return nil, err
	}
	if c.Size, err = f.poolSize(missing || st != nil && st.Size() == 0); err != nil {
		return nil, err
	}
	r := &initReport{Path: path, Did: "made"}
	do := makeFresh
	if !missing {
		if do, err = f.look(c, r); err != nil {
			return nil, err
		}
	}
	if err = do(c); err != nil {
		if errors.Is(err, arena.ErrNotPool) {
			err = fmt.Errorf("%s is not a cMPI pool and not empty; use --force to overwrite it", path)
		}
		return nil, err
	}
	if err := permit(path, mode, uid, gid); err != nil {
		if missing {
			os.Remove(path)
		}
		return nil, err
	}
	return r, r.describe(c)
}

// makeFresh makes a pool of what is missing, empty or all zero, and refuses to
// touch anything else.
func makeFresh(c arena.Config) error {
	c.Create = true
	a, err := arena.Open(c)
	if err != nil {
		return err
	}
	size := a.Size()
	if err = a.Close(); err == nil && !a.Device() && c.Size != 0 && size != c.Size {
		err = arena.Format(c) // of a file of zeroes that had another size
	}
	return err
}

// look looks at what is at c's path and says how to make a pool of it; an error
// where it must not be overwritten.
func (f *initFlags) look(c arena.Config, r *initReport) (do func(arena.Config) error, err error) {
	a, err := arena.Open(c)
	switch {
	case err == nil:
		defer a.Close()
		r.Did = "replaced"
		if err := f.lookAtPool(a, r); err != nil || !f.force {
			return arena.Format, err
		}
		return arena.Replace, nil
	case errors.Is(err, arena.ErrNotPool):
		r.Did = "formatted"
		if !f.force {
			return makeFresh, nil
		}
	case errors.Is(err, arena.ErrVersion), errors.Is(err, arena.ErrCorrupt), errors.Is(err, arena.ErrTruncated):
		// Nobody can tell who uses it.
		r.Did = "replaced"
		if !f.force {
			return nil, fmt.Errorf("%w; to overwrite it, use --force", err)
		}
	default:
		return nil, err
	}
	r.NotPool = true
	return arena.Replace, nil
}

// lookAtPool notes what a pool holds, and refuses if it may be in use.
func (f *initFlags) lookAtPool(a *arena.Arena, r *initReport) error {
	objects, err := a.List()
	if err != nil && !errors.Is(err, arena.ErrCorrupt) {
		return err
	}
	r.Lost = len(objects)
	if f.force {
		return nil
	}
	st, _ := a.Stat() // the hosts are known even when the rest is corrupt
	state := map[arena.Life]string{arena.Alive: "is alive", arena.Unknown: "may be alive, which can't be seen from here"}
	for _, o := range objects {
		if o.Life == arena.Dead {
			continue
		}
		what := "object " + safeName(o.Name)
		if job, ok := mpitransport.JobOfObject(o.Name); ok {
			what = "job " + safeName(job)
		}
		return fmt.Errorf("pool %s is in use: %s, which has %s, %s; end it first, or use --force", a.Path(),
			ownerText(o, hostNames(st.Hosts)), what, state[o.Life])
	}
	return nil
}

// describe fills in what the pool is now.
func (r *initReport) describe(c arena.Config) error {
	c.Create = false
	a, err := arena.Open(c)
	if err != nil {
		return err
	}
	defer a.Close()
	st, err := a.Stat()
	if err != nil {
		return err
	}
	r.ID, r.Device, r.Size, r.Free, r.Slots = arena.FormatID(a.ID()), a.Device(), st.Size, st.Free, st.Slots
	if info, err := os.Stat(c.Path); err == nil && !r.Device {
		r.Mode = fmt.Sprintf("%04o", info.Mode().Perm())
	}
	return nil
}

// poolSize is the size of a file that is made; 0: that which the file has.
func (f *initFlags) poolSize(fresh bool) (int64, error) {
	if f.size != "" {
		n, err := settings.Bytes(f.size, arena.MinSize)
		if err != nil {
			return 0, fmt.Errorf("--size %s: %w", f.size, err)
		}
		return n, nil
	}
	if !fresh {
		return 0, nil
	}
	s, err := settings.Parse(os.Environ())
	return s.PoolSize, err
}

// keep stands for an owner or a mode that is not to be changed.
const keep = -1

// parseOwner reads USER, USER:GROUP or :GROUP, names or numbers.
func parseOwner(s string) (uid, gid int, err error) {
	uid, gid = keep, keep
	if s == "" {
		return uid, gid, nil
	}
	name, group, _ := strings.Cut(s, ":")
	if name != "" {
		if uid, err = strconv.Atoi(name); err != nil {
			u, err := user.Lookup(name)
			if err != nil {
				return keep, keep, fmt.Errorf("--owner %s: there is no user %s", s, name)
			}
			uid, _ = strconv.Atoi(u.Uid) // a number on Linux
		}
	}
	if group != "" {
		if gid, err = strconv.Atoi(group); err != nil {
			g, err := user.LookupGroup(group)
			if err != nil {
				return keep, keep, fmt.Errorf("--owner %s: there is no group %s", s, group)
			}
			gid, _ = strconv.Atoi(g.Gid)
		}
	}
	return uid, gid, nil
}

func parseMode(s string) (int, error) {
	if s == "" {
		return keep, nil
	}
	m, err := strconv.ParseUint(s, 8, 32)
	if err != nil || m > 0o777 {
		return keep, fmt.Errorf("--mode %s: write octal permissions, as 0660", s)
	}
	return int(m), nil
}

// permit sets owner and mode where they were given; the owner first, because
// changing it may take bits of the mode away.
func permit(path string, mode, uid, gid int) error {
	if uid != keep || gid != keep {
		if err := os.Chown(path, uid, gid); err != nil {
			return err
		}
	}
	if mode != keep {
		return os.Chmod(path, os.FileMode(mode))
	}
	return nil
}
