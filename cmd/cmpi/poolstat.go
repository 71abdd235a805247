package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cmpi/arena"
)

// poolStat is what cmpi pool stat tells.
type poolStat struct {
	Path          string     `json:"path"`
	ID            string     `json:"id"`
	Device        bool       `json:"device"`
	Created       time.Time  `json:"created"`
	Size          int64      `json:"size"`     // bytes, as all that follow
	Metadata      int64      `json:"metadata"` // not for objects
	Used          int64      `json:"used"`
	Free          int64      `json:"free"`
	Largest       int64      `json:"largest_free"`
	Runs          int        `json:"free_runs"`
	Fragmentation float64    `json:"fragmentation"` // 0: all free space is in one piece
	Objects       int        `json:"objects"`
	Slots         int64      `json:"slots"`
	Jobs          []jobInfo  `json:"jobs"`
	Hosts         []hostInfo `json:"hosts"`
}

// hostInfo is a host of a pool as --json tells of it.
type hostInfo struct {
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
	Self  bool      `json:"self"` // the host that asks
	Lock  string    `json:"lock"` // idle, waiting or holding
}

func poolStatCommand() *cobra.Command {
	var f poolFlags
	cmd := &cobra.Command{
		Use:   "stat [PATH]",
		Short: "Say how full a pool is, and who takes part in it",
		Long: `Says how large and how full a pool is, in how many pieces its free space lies,
which jobs have something in it, and which hosts have ever changed it. A host
that holds the lock for long has died with it: see cmpi pool evict.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := poolPath(args)
			if err != nil {
				return err
			}
			return f.with(path, func(a *arena.Arena) error {
				st, err := a.Stat()
				if err != nil {
					return err
				}
				objects, err := a.List()
				if err != nil {
					return err
				}
				s := newPoolStat(path, a, st, objects)
				if f.asJSON {
					return writeJSON(cmd.OutOrStdout(), s)
				}
				return s.write(cmd.OutOrStdout())
			})
		},
	}
	f.add(cmd)
	return cmd
}

func newPoolStat(path string, a *arena.Arena, st arena.Stat, objects []arena.Info) poolStat {
	s := poolStat{
		Path: path, ID: arena.FormatID(a.ID()), Device: a.Device(), Created: time.Unix(0, st.Created).UTC(),
		Size: st.Size, Metadata: st.Metadata, Used: st.Used, Free: st.Free, Largest: st.Largest, Runs: st.Runs,
		Fragmentation: st.Fragmentation(), Objects: st.Objects, Slots: st.Slots, Jobs: jobInfos(objects), Hosts: []hostInfo{},
	}
	for _, h := range st.Hosts {
		lock := "idle"
		switch {
		case h.Holding:
			lock = "holding"
		case h.Ticket != 0:
			lock = "waiting"
		}
		s.Hosts = append(s.Hosts, hostInfo{arena.FormatID(h.ID), h.Name, time.Unix(0, h.Since).UTC(), h.Self, lock})
	}
	return s
}

func (s poolStat) write(w io.Writer) error {
	kind := "file"
	if s.Device {
		kind = "device"
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "pool\t%s (%s)\n", s.Path, kind)
	fmt.Fprintf(t, "id\t%s\n", s.ID)
	fmt.Fprintf(t, "made\t%s\n", s.Created.Format(time.RFC3339))
	fmt.Fprintf(t, "size\t%s, of which %s metadata\n", sizeText(s.Size), sizeText(s.Metadata))
	fmt.Fprintf(t, "used\t%s by %s of %d that have a slot\n", sizeText(s.Used), plural(s.Objects, "object"), s.Slots)
	fmt.Fprintf(t, "free\t%s in %s, the largest %s: %.1f %% fragmented\n", sizeText(s.Free), plural(s.Runs, "piece"), sizeText(s.Largest), 100*s.Fragmentation)
	for i, j := range s.Jobs {
		fmt.Fprintf(t, "%s\t%s, %s, %s, %s\n", title(i, "jobs"), safeName(j.Name), j.State, plural(j.Objects, "object"), sizeText(j.Bytes))
	}
	for i, h := range s.Hosts {
		self := ""
		if h.Self {
			self = ", this one"
		}
		fmt.Fprintf(t, "%s\t%s %s since %s, lock %s%s\n", title(i, "hosts"), orNot(h.Name, "(no name)"), h.ID, h.Since.Format(time.RFC3339), h.Lock, self)
	}
	return t.Flush()
}

// title stands before the first line of a list only.
func title(i int, text string) string {
	if i > 0 {
		return ""
	}
	return text
}
