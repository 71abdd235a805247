package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cmpi/arena"
)

// fsckReport is what cmpi pool fsck tells.
type fsckReport struct {
	Path     string    `json:"path"`
	Objects  int       `json:"objects"`
	Bytes    int64     `json:"bytes"` // that objects occupy
	Findings []finding `json:"findings"`
	// Repaired is how many findings a repair has put right.
	Repaired int  `json:"repaired"`
	Changing bool `json:"changing"` // findings may be changes under way
}

// finding is what is wrong with a part of the metadata.
type finding struct {
	Part   string `json:"part"`
	Text   string `json:"text"`
	Repair string `json:"repair"` // safe: --repair does it; idle: --repair --force does; none
}

// cures are the values of finding.Repair.
var cures = map[arena.Cure]string{arena.CureAny: "safe", arena.CureIdle: "idle", arena.CureNone: "none"}

func findings(r arena.Report) []finding {
	list := []finding{}
	for _, f := range r.Findings {
		list = append(list, finding{f.Part, f.Text, cures[f.Cure]})
	}
	return list
}

func poolFsckCommand() *cobra.Command {
	var (
		f             poolFlags
		repair, force bool
	)
	cmd := &cobra.Command{
		Use:   "fsck [PATH]",
		Short: "Check a pool's metadata, and repair it",
		Long: `Checks a pool's metadata: journal, table of hosts, slots, allocator. Nothing is
written, no lock is taken, and jobs may run. The exit status is 1 when something is
wrong.

--repair puts right what is derived from the objects, at any time. With --force it
also takes away slots that make no sense and space that may have been theirs; for
that no job may use the pool on any host. Objects that overlap are for you to
remove; a pool whose first page is damaged can only be made anew (cmpi pool init).`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if force && !repair {
				return errors.New("--force is for --repair")
			}
			path, err := poolPath(args)
			if err != nil {
				return err
			}
			return f.with(path, func(a *arena.Arena) error { return f.fsck(cmd, a, repair, force) })
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&repair, "repair", false, "put right what can be put right safely")
	cmd.Flags().BoolVar(&force, "force", false, "with --repair: no host uses the pool, so take away what makes no sense")
	return cmd
}

func (f *poolFlags) fsck(cmd *cobra.Command, a *arena.Arena, repair, force bool) error {
	var (
		r        arena.Report
		repaired int
		err      error
	)
	if repair {
		var found arena.Report
		if found, r, err = a.Repair(force); err == nil {
			repaired = max(0, len(found.Findings)-len(r.Findings))
		}
	} else {
		r, err = a.Inspect()
	}
	if err != nil {
		return err
	}
	report := fsckReport{a.Path(), r.Objects, r.Bytes, findings(r), repaired, r.Changing}
	if f.asJSON {
		err = writeJSON(cmd.OutOrStdout(), report)
	} else {
		err = report.write(cmd.OutOrStdout())
	}
	if err == nil && len(r.Findings) > 0 {
		err = exitStatus(1)
	}
	return err
}

func (r fsckReport) write(w io.Writer) error {
	remedies := map[string]string{"safe": "--repair puts it right", "idle": "--repair --force takes it away when no job uses the pool", "none": "not for --repair"}
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%s: %s (%s)\n", f.Part, f.Text, remedies[f.Repair])
	}
	if r.Changing {
		fmt.Fprintln(w, "the pool was changed all the time, so these may be changes under way; look again, or use --repair, which takes the lock")
	}
	if r.Repaired > 0 {
		fmt.Fprintf(w, "put right: %s\n", plural(r.Repaired, "finding"))
	}
	verdict := "sound"
	if len(r.Findings) > 0 {
		verdict = plural(len(r.Findings), "finding")
	}
	_, err := fmt.Fprintf(w, "%s: %s, %s: %s\n", r.Path, plural(r.Objects, "object"), sizeText(r.Bytes), verdict)
	return err
}
