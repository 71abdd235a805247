package mpitransport

import (
	"errors"
	"sort"
	"strings"

	"cmpi/arena"
)

// Names of a job's objects in the pool all begin with this and the job's name,
// as in "j/5f0c2f3a/root", whichever package makes them.
const jobPrefix = "j/"

// JobOfObject is the job to which the object of a name belongs; false: to none.
// Names of jobs hold no slash, unless a C program gives itself such a one.
func JobOfObject(object string) (job string, ok bool) {
	rest, ok := strings.CutPrefix(object, jobPrefix)
	if !ok {
		return "", false
	}
	job, _, ok = strings.Cut(rest, "/")
	return job, ok && job != ""
}

// Job is what a pool holds of one job.
type Job struct {
	Name    string
	Objects int
	Bytes   int64 // of its objects
	// Processes that own something, by what is known of them.
	Alive, Dead, Unknown int
}

// Life is that of the whole job: alive as long as one process is.
func (j *Job) Life() arena.Life {
	switch {
	case j.Alive > 0:
		return arena.Alive
	case j.Unknown > 0:
		return arena.Unknown
	}
	return arena.Dead
}

// Jobs finds the jobs among the objects of a pool, in the order of their names.
func Jobs(objects []arena.Info) []*Job {
	type process struct {
		job   *Job
		owner arena.Owner
	}
	byName := map[string]*Job{}
	counted := map[process]bool{}
	for _, o := range objects {
		name, ok := JobOfObject(o.Name)
		if !ok {
			continue
		}
		j := byName[name]
		if j == nil {
			j = &Job{Name: name}
			byName[name] = j
		}
		j.Objects++
		j.Bytes += o.Size
		if p := (process{j, o.Owner}); !counted[p] {
			counted[p] = true
			switch o.Life {
			case arena.Alive:
				j.Alive++
			case arena.Dead:
				j.Dead++
			default:
				j.Unknown++
			}
		}
	}
	jobs := make([]*Job, 0, len(byName))
	for _, j := range byName {
		jobs = append(jobs, j)
	}
	sort.Slice(jobs, func(a, b int) bool { return jobs[a].Name < jobs[b].Name })
	return jobs
}

// Garbage finds the objects of dead processes. Those of a job of which another
// process lives are held: it may be reading and writing them. So are, unless
// across is set, those of a job that has processes on other hosts, of which
// nothing is known here; with across the caller knows, or takes, them for dead.
func Garbage(objects []arena.Info, across bool) (garbage, held []arena.Info) {
	lives := map[string]arena.Life{}
	for _, j := range Jobs(objects) {
		lives[j.Name] = j.Life()
	}
	for _, o := range objects {
		if o.Life != arena.Dead {
			continue
		}
		name, ok := JobOfObject(o.Name)
		if ok && (lives[name] == arena.Alive || lives[name] == arena.Unknown && !across) {
			held = append(held, o)
		} else {
			garbage = append(garbage, o)
		}
	}
	return garbage, held
}

// Collect frees the garbage of a pool, and the pool lock if a dead process of
// this host has it.
func Collect(a *arena.Arena, across bool) (freed, held []arena.Info, err error) {
	if err := a.Heal(); err != nil {
		return nil, nil, err
	}
	// What a corrupt slot hides can't be freed, the rest can.
	objects, listErr := a.List()
	garbage, held := Garbage(objects, across)
	for _, o := range garbage {
		switch err := a.Remove(o); {
		case err == nil:
			freed = append(freed, o)
		case !errors.Is(err, arena.ErrNotFound): // someone else was faster
			return freed, held, err
		}
	}
	return freed, held, listErr
}

// EvictSilent frees what hosts have left that are down, cut off, or have no
// process any more that owns anything. It is quick when there is none; otherwise
// it watches them for arena.SilentWatch. Hosts of a job of which a process lives
// elsewhere are left alone.
func EvictSilent(a *arena.Arena) (evicted []arena.HostInfo, objects int, err error) {
	silent := a.Silent()
	if len(silent) == 0 {
		return nil, 0, nil
	}
	list, _ := a.List() // what a corrupt slot hides can't be freed, the rest can
	if silent = a.Watch(abandoned(silent, list)); len(silent) == 0 {
		return nil, 0, nil
	}
	// Jobs may have begun meanwhile.
	list, _ = a.List()
	for _, h := range abandoned(silent, list) {
		n, err := a.Evict(h.ID)
		objects += n
		if err != nil {
			return evicted, objects, err
		}
		evicted = append(evicted, h)
	}
	return evicted, objects, nil
}

// abandoned are those of the silent hosts that own something or take part in the
// pool lock, and that no living job needs.
func abandoned(silent []arena.HostInfo, objects []arena.Info) (list []arena.HostInfo) {
	quiet := map[[16]byte]bool{}
	for _, h := range silent {
		quiet[h.ID] = true
	}
	lives := map[string]bool{}
	owns := map[[16]byte]bool{}
	for _, o := range objects {
		owns[o.Owner.Host] = true
		if job, ok := JobOfObject(o.Name); ok && (o.Life == arena.Alive || o.Life == arena.Unknown && !quiet[o.Owner.Host]) {
			lives[job] = true
		}
	}
	needed := map[[16]byte]bool{}
	for _, o := range objects {
		if job, ok := JobOfObject(o.Name); ok && lives[job] {
			needed[o.Owner.Host] = true
		}
	}
	for _, h := range silent {
		if !needed[h.ID] && (owns[h.ID] || h.Holding || h.Ticket != 0) {
			list = append(list, h)
		}
	}
	return list
}
