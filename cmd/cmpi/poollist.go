package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cmpi/arena"
	"cmpi/mpitransport"
)

// objectInfo is an object as --json tells of it.
type objectInfo struct {
	Name       string     `json:"name"`
	Job        string     `json:"job,omitempty"` // none: made through cxl_shm.h
	Size       int64      `json:"size"`
	Offset     int64      `json:"offset"`
	Generation uint64     `json:"generation"`
	Ready      bool       `json:"ready"` // false: being made or destroyed
	UID        uint32     `json:"uid"`
	PID        uint32     `json:"pid"`
	PIDSpace   uint32     `json:"pid_namespace"`
	Host       string     `json:"host"`  // id; empty: no longer in the host table
	Owner      string     `json:"owner"` // alive, dead or unknown
	Started    *time.Time `json:"owner_started,omitempty"`
}

func newObjectInfo(o arena.Info, self [16]byte) objectInfo {
	i := objectInfo{
		Name: o.Name, Size: o.Size, Offset: o.Offset, Generation: o.Generation, Ready: o.Ready,
		UID: o.Owner.UID, PID: o.Owner.PID, PIDSpace: o.Owner.PIDNS, Owner: o.Life.String(),
	}
	i.Job, _ = mpitransport.JobOfObject(o.Name)
	if o.Owner.Host != [16]byte{} {
		i.Host = arena.FormatID(o.Owner.Host)
	}
	if o.Owner.Host == self { // clocks of other hosts began at another time
		if at, ok := o.Owner.Started(); ok {
			at = at.Round(time.Second).UTC()
			i.Started = &at
		}
	}
	return i
}

// objectInfos describes objects for --json; never nil.
func objectInfos(objects []arena.Info, self [16]byte) []objectInfo {
	list := make([]objectInfo, 0, len(objects))
	for _, o := range objects {
		list = append(list, newObjectInfo(o, self))
	}
	return list
}

func poolListCommand() *cobra.Command {
	var (
		f    poolFlags
		jobs bool
	)
	cmd := &cobra.Command{
		Use:   "ls [PATH]",
		Short: "List the objects in a pool, and whether their owners live",
		Long: `Lists the objects in a pool: name, size, the user and process that own each,
whether that process is alive, and for how long it has been running. What is of
another host, or of a container whose processes can't be seen from here, is
unknown. The first parts of a name tell the job: j/JOB/RANK/NUMBER.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := poolPath(args)
			if err != nil {
				return err
			}
			return f.with(path, func(a *arena.Arena) error {
				// What is sound is shown even when something is corrupt.
				objects, listErr := a.List()
				var err error
				switch {
				case f.asJSON && jobs:
					err = writeJSON(cmd.OutOrStdout(), jobInfos(objects))
				case f.asJSON:
					err = writeJSON(cmd.OutOrStdout(), objectInfos(objects, a.HostID()))
				case jobs:
					err = writeJobs(cmd.OutOrStdout(), objects)
				default:
					err = writeObjects(cmd.OutOrStdout(), a, objects)
				}
				if err != nil {
					return err
				}
				return listErr
			})
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&jobs, "jobs", false, "one line per job instead of one per object")
	return cmd
}

func writeObjects(w io.Writer, a *arena.Arena, objects []arena.Info) error {
	st, _ := a.Stat() // the hosts are known even when the rest is corrupt
	hosts := hostNames(st.Hosts)
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tSIZE\tUSER\tPID\tHOST\tOWNER\tSINCE")
	for _, o := range objects {
		i := newObjectInfo(o, a.HostID())
		since := "-"
		if i.Started != nil {
			since = ageText(time.Since(*i.Started))
		}
		owner := i.Owner
		if !o.Ready {
			owner += ", unfinished"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", safeName(o.Name), sizeText(o.Size), userName(o.Owner.UID), o.Owner.PID,
			orNot(hosts[o.Owner.Host], "-"), owner, since)
	}
	return t.Flush()
}

// jobInfo is a job as --json tells of it.
type jobInfo struct {
	Name    string `json:"name"`
	State   string `json:"state"` // alive, dead or unknown
	Objects int    `json:"objects"`
	Bytes   int64  `json:"bytes"`
	Alive   int    `json:"processes_alive"`
	Dead    int    `json:"processes_dead"`
	Unknown int    `json:"processes_unknown"`
}

// jobInfos describes the jobs for --json; never nil.
func jobInfos(objects []arena.Info) []jobInfo {
	list := []jobInfo{}
	for _, j := range mpitransport.Jobs(objects) {
		list = append(list, jobInfo{j.Name, j.Life().String(), j.Objects, j.Bytes, j.Alive, j.Dead, j.Unknown})
	}
	return list
}

func writeJobs(w io.Writer, objects []arena.Info) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "JOB\tSTATE\tPROCESSES\tOBJECTS\tSIZE")
	for _, j := range jobInfos(objects) {
		processes := ""
		for _, p := range []struct {
			n    int
			what string
		}{{j.Alive, "alive"}, {j.Dead, "dead"}, {j.Unknown, "unknown"}} {
			if p.n == 0 {
				continue
			}
			if processes != "" {
				processes += ", "
			}
			processes += strconv.Itoa(p.n) + " " + p.what
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\n", safeName(j.Name), j.State, processes, j.Objects, sizeText(j.Bytes))
	}
	return t.Flush()
}
