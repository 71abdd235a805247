package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"cmpi/arena"
	"cmpi/mpitransport"
)

// freedInfo is what cmpi pool gc, rm and evict tell.
type freedInfo struct {
	Freed []objectInfo `json:"freed"`
	Bytes int64        `json:"bytes"`          // of the objects freed
	Held  []objectInfo `json:"held,omitempty"` // of dead owners, left alone
	// Hosts that gave no sign of life and were evicted, with all that they had.
	Evicted        []evictedInfo `json:"evicted,omitempty"`
	EvictedObjects int           `json:"evicted_objects,omitempty"`
}

// evictedInfo is a host that was evicted because it was silent.
type evictedInfo struct {
	ID   string    `json:"id"`
	Name string    `json:"name"`
	Last time.Time `json:"last_sign_of_life"` // by its own clock
}

func newFreedInfo(freed, held []arena.Info, self [16]byte) freedInfo {
	i := freedInfo{Freed: objectInfos(freed, self)}
	if len(held) > 0 {
		i.Held = objectInfos(held, self)
	}
	for _, o := range freed {
		i.Bytes += o.Size
	}
	return i
}

func (i freedInfo) write(w io.Writer, did string) {
	for _, o := range i.Freed {
		fmt.Fprintf(w, "%s %s, %s\n", did, safeName(o.Name), sizeText(o.Size))
	}
	for _, h := range i.Evicted {
		fmt.Fprintf(w, "evicted host %s (%s), silent since %s\n", safeName(h.Name), h.ID, h.Last.Format(time.DateTime))
	}
	if len(i.Evicted) > 0 {
		fmt.Fprintf(w, "%s %s of such hosts\n", did, plural(i.EvictedObjects, "object"))
	}
	fmt.Fprintf(w, "%s %s, %s in all\n", did, plural(len(i.Freed), "object"), sizeText(i.Bytes))
}

func poolGCCommand() *cobra.Command {
	var (
		f           poolFlags
		dry, across bool
	)
	cmd := &cobra.Command{
		Use:   "gc [PATH]",
		Short: "Free what dead processes have left in a pool",
		Long: `Frees the objects of processes of this host that have ended without giving them
back. Objects of a job of which any process lives are left alone. So are those of
a job that has processes on other hosts, which can't be seen from here; when you
know that the job is over on all of them, run cmpi pool gc --force on each.

Hosts that are down or cut off are evicted with all that they have: those whose
last sign of life is a minute old, that give none for some seconds more, and that
no job needs of which a process lives.

Jobs do both themselves when they start.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := poolPath(args)
			if err != nil {
				return err
			}
			return f.with(path, func(a *arena.Arena) error { return f.collect(cmd, a, dry, across) })
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "say what would be freed")
	cmd.Flags().BoolVar(&across, "force", false, "take the processes of such jobs on other hosts for dead")
	return cmd
}

func (f *poolFlags) collect(cmd *cobra.Command, a *arena.Arena, dry, across bool) error {
	var (
		freed, held []arena.Info
		hosts       []arena.HostInfo
		objects     int
		err         error
		did         = "freed"
	)
	if dry {
		did = "would free"
		var all []arena.Info
		all, err = a.List()
		freed, held = mpitransport.Garbage(all, across)
	} else {
		if len(a.Silent()) > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "some hosts are silent; watching them for %v\n", arena.SilentWatch)
			if hosts, objects, err = mpitransport.EvictSilent(a); err != nil {
				return err
			}
		}
		freed, held, err = mpitransport.Collect(a, across)
	}
	i := newFreedInfo(freed, held, a.HostID())
	i.EvictedObjects = objects
	for _, h := range hosts {
		i.Evicted = append(i.Evicted, evictedInfo{arena.FormatID(h.ID), h.Name, time.Unix(0, max(h.Since, h.Beat))})
	}
	if f.asJSON {
		if e := writeJSON(cmd.OutOrStdout(), i); e != nil {
			return e
		}
		return err
	}
	i.write(cmd.OutOrStdout(), did)
	if len(held) > 0 {
		why := "a process of their job lives"
		if !across {
			why += ", or may live on another host (--force takes it for dead)"
		}
		fmt.Fprintf(cmd.OutOrStdout(), "left %s of dead processes: %s\n", plural(len(held), "object"), why)
	}
	return err
}
