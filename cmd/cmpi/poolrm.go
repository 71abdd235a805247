package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"cmpi/arena"
	"cmpi/mpitransport"
)

func poolRemoveCommand() *cobra.Command {
	var (
		f     poolFlags
		jobs  []string
		force bool
	)
	cmd := &cobra.Command{
		Use:   "rm PATH {NAME... | --job JOB...}",
		Short: "Remove objects, or all objects of a job, from a pool",
		Long: `Removes objects from a pool, by name as cmpi pool ls shows it, or all objects of
a job. Nothing is removed when one of them has an owner that is alive, or that
can't be seen from here; --force takes that on you: a process that still uses an
object writes into whatever gets its space next.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 && len(jobs) == 0 {
				return errors.New("remove what? Give names of objects, or --job")
			}
			return f.with(args[0], func(a *arena.Arena) error { return f.remove(cmd, a, args[1:], jobs, force) })
		},
	}
	f.add(cmd)
	cmd.Flags().StringArrayVar(&jobs, "job", nil, "all objects of this job (repeatable)")
	cmd.Flags().BoolVar(&force, "force", false, "also objects whose owner is or may be alive")
	return cmd
}

func (f *poolFlags) remove(cmd *cobra.Command, a *arena.Arena, names, jobs []string, force bool) error {
	objects, listErr := a.List() // a corrupt slot does not keep us from the others
	chosen, err := choose(a.Path(), objects, names, jobs)
	if err != nil {
		return err
	}
	if !force {
		if err := refuseLive(a, objects, chosen); err != nil {
			return err
		}
	}
	var removed []arena.Info
	for _, o := range chosen {
		switch err = a.Remove(o); {
		case err == nil:
			removed = append(removed, o)
		case errors.Is(err, arena.ErrNotFound): // its owner was faster
			err = nil
		}
		if err != nil {
			break
		}
	}
	i := newFreedInfo(removed, nil, a.HostID())
	if f.asJSON {
		if e := writeJSON(cmd.OutOrStdout(), i); e != nil {
			return e
		}
	} else {
		i.write(cmd.OutOrStdout(), "removed")
	}
	if err != nil {
		return err
	}
	return listErr
}

// choose finds the objects of the given names and jobs; each must have one.
func choose(path string, objects []arena.Info, names, jobs []string) (chosen []arena.Info, err error) {
	for _, name := range names {
		name = unquoteName(name)
		i := slices.IndexFunc(objects, func(o arena.Info) bool { return o.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("pool %s: %w: %s; cmpi pool ls lists those that there are", path, arena.ErrNotFound, safeName(name))
		}
		if !slices.Contains(chosen, objects[i]) {
			chosen = append(chosen, objects[i])
		}
	}
	for _, job := range jobs {
		found := false
		for _, o := range objects {
			if j, ok := mpitransport.JobOfObject(o.Name); ok && j == job {
				found = true
				if !slices.Contains(chosen, o) {
					chosen = append(chosen, o)
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("pool %s: it holds nothing of a job %s; cmpi pool ls --jobs lists the jobs", path, safeName(job))
		}
	}
	return chosen, nil
}

// refuseLive is the error that the owner of one of the chosen objects, or
// another process of its job, lives or may live.
func refuseLive(a *arena.Arena, objects, chosen []arena.Info) error {
	st, _ := a.Stat() // the hosts are known even when the rest is corrupt
	hosts := hostNames(st.Hosts)
	for _, o := range chosen {
		users := []arena.Info{o}
		if job, ok := mpitransport.JobOfObject(o.Name); ok {
			for _, p := range objects {
				if j, _ := mpitransport.JobOfObject(p.Name); j == job {
					users = append(users, p)
				}
			}
		}
		for _, u := range users {
			if u.Life == arena.Dead {
				continue
			}
			why := "is alive; end it, or use --force"
			if u.Life == arena.Unknown {
				why = "may be alive, which can't be seen from here; use --force if it is not"
			}
			uses := "owns"
			if u != o {
				uses = "has the same job as"
			}
			return fmt.Errorf("pool %s: %s %s %s and %s", a.Path(), ownerText(u, hosts), uses, safeName(o.Name), why)
		}
	}
	return nil
}

func poolEvictCommand() *cobra.Command {
	var f poolFlags
	cmd := &cobra.Command{
		Use:   "evict PATH HOST",
		Short: "Remove a host that is gone for good, and its objects, from a pool",
		Long: `Removes a host from a pool: its part in the pool's lock, its entry in the table
of hosts, and all its objects. HOST is the id that cmpi pool stat shows. It is for
a host that was switched off or has been started anew (which gives it another id),
above all when it died while it held the lock.

You answer for it that no process of that host uses the pool any more: nobody can
tell a dead host from a slow one through memory, and evicting one that lives
destroys what it and others write.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, ok := arena.ParseID(args[1])
			if !ok {
				return fmt.Errorf("%q is no id of a host; cmpi pool stat shows them", args[1])
			}
			return f.with(args[0], func(a *arena.Arena) error {
				st, _ := a.Stat() // the hosts are known even when the rest is corrupt
				if !slices.ContainsFunc(st.Hosts, func(h arena.HostInfo) bool { return h.ID == id }) {
					return fmt.Errorf("pool %s: it has no host %s; cmpi pool stat shows those that it has", a.Path(), args[1])
				}
				n, err := a.Evict(id)
				if err != nil {
					return err
				}
				if f.asJSON {
					return writeJSON(cmd.OutOrStdout(), map[string]any{"host": args[1], "objects_removed": n})
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "evicted host %s and removed %s\n", args[1], plural(n, "object"))
				return err
			})
		},
	}
	f.add(cmd)
	return cmd
}
