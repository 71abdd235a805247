package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"cmpi/arena"
	"cmpi/flush"
	"cmpi/settings"
)

// poolFlags are common to the commands on a pool.
type poolFlags struct {
	asJSON  bool
	timeout time.Duration // for the pool's lock
}

func (f *poolFlags) add(cmd *cobra.Command) {
	jsonFlag(cmd, &f.asJSON)
	cmd.Flags().DurationVar(&f.timeout, "timeout", arena.DefaultLockTimeout, "how long to wait for the pool's lock")
}

func poolCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pool",
		Short: "Look after a pool: list, clean up, check, make",
		Long: `Looks after a pool, a file or devdax device in which jobs keep what they share.
PATH is the pool; where it may be left out it is CMPI_POOL. Jobs may run
meanwhile: nothing that a live process owns is touched without --force.`,
	}
	cmd.AddCommand(poolListCommand(), poolStatCommand(), poolGCCommand(), poolFsckCommand(), poolRemoveCommand(),
		poolEvictCommand(), poolInitCommand())
	return cmd
}

// poolPath is the pool that the arguments name, or CMPI_POOL.
func poolPath(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	if path := os.Getenv("CMPI_POOL"); path != "" {
		return path, nil
	}
	return "", errors.New("which pool? Give its path, or set CMPI_POOL")
}

// poolConfig is how the commands here open a pool: as another host would, which
// is right whoever uses it. Metadata of a file that only this kernel sees agrees
// with that, too.
func poolConfig(path string) (arena.Config, error) {
	s, err := settings.Parse(os.Environ())
	if err != nil {
		return arena.Config{}, err
	}
	c := arena.Config{Path: path, HostID: arena.KernelID(s.Host), Flush: flush.Options{NoVector: s.NoVector}}
	if flush.Caps().WriteBack != "" {
		c.Mode = flush.Flush
	}
	return c, nil
}

// with opens the pool at path for what f does.
func (f *poolFlags) with(path string, do func(a *arena.Arena) error) error {
	c, err := poolConfig(path)
	if err != nil {
		return err
	}
	c.LockTimeout = f.timeout
	return guarded(path, func() error {
		a, err := arena.Open(c)
		if err != nil {
			return err
		}
		defer a.Close()
		return do(a)
	})
}

// guarded does what touches the memory of a pool. A file that somebody cuts off
// meanwhile, or that has holes on a full filesystem, is an error and not our end.
func guarded(path string, do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case interface { // a memory fault, says debug.SetPanicOnFault
			runtime.Error
			Addr() uintptr
		}:
			err = fmt.Errorf("pool %s: part of it could not be read: it was cut off, or its filesystem is full", path)
		default:
			panic(fault)
		}
	}()
	return do()
}

// ownerText says who owns an object.
func ownerText(o arena.Info, hosts map[[16]byte]string) string {
	host := hosts[o.Owner.Host]
	if host == "" {
		host = "a host that is not known"
	}
	return fmt.Sprintf("process %d of user %s on %s", o.Owner.PID, userName(o.Owner.UID), host)
}

// hostNames are the names by which the hosts of a pool called themselves; two of
// one name are told apart by their ids.
func hostNames(hosts []arena.HostInfo) map[[16]byte]string {
	names, count := map[[16]byte]string{}, map[string]int{}
	for _, h := range hosts {
		names[h.ID] = h.Name
		count[h.Name]++
	}
	for id, name := range names {
		switch {
		case name == "":
			names[id] = arena.FormatID(id)
		case count[name] > 1:
			names[id] = name + "/" + arena.FormatID(id)[:8]
		}
	}
	return names
}
