package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cmpi/settings"
	"cmpi/stats"
)

// statsOptions are those that stats and top share.
type statsOptions struct {
	pool, measure string
	asJSON        bool
}

func (o *statsOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.pool, "pool", "", "the job's pool (default: CMPI_POOL, else the pools that running jobs have made for themselves)")
	cmd.Flags().StringVar(&o.measure, "map", stats.Measures[0].Name, "what the map shows: "+measureNames())
}

func statsCommand() *cobra.Command {
	var o statsOptions
	cmd := &cobra.Command{
		Use:   "stats [JOB]",
		Short: "Show what a running job has counted",
		Long: `Shows the counters of a job that was started with CMPI_STATS=1 and still runs:
its messages by protocol, operations on windows, waits, and a map of which rank
has sent how much to which. The beginning of the job's name is enough; with one
job alone none is needed. Of a job that was killed the counters are to be had by its
name, if its pool has one. docs/stats.md explains the figures.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := findMeasure(o.measure)
			if err != nil {
				return err
			}
			j, err := o.job(args)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if o.asJSON {
				enc := json.NewEncoder(out)
				enc.SetIndent("", "  ")
				return enc.Encode(struct {
					*stats.Job
					Total stats.Total `json:"total"`
				}{j, j.Total()})
			}
			return show(out, j, m, terminalWidth())
		},
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON")
	return cmd
}

func topCommand() *cobra.Command {
	var (
		o     statsOptions
		every time.Duration
	)
	cmd := &cobra.Command{
		Use:   "top [JOB]",
		Short: "Show what a running job counts, again and again",
		Long: `Shows what cmpi stats shows, as it was counted since the last look, until the job
has ended or Ctrl-C.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := findMeasure(o.measure)
			if err != nil {
				return err
			}
			if every < minEvery {
				return fmt.Errorf("--every %v: at least %v", every, minEvery)
			}
			last, err := o.job(args)
			if err != nil {
				return err
			}
			tick := time.NewTicker(every)
			defer tick.Stop()
			for {
				select {
				case <-cmd.Context().Done():
					return nil
				case <-tick.C:
				}
				now, err := o.job([]string{last.Name})
				if errors.Is(err, errNoJob) || err == nil && !now.Running() {
					fmt.Fprintf(cmd.OutOrStdout(), "job %s has ended\n", safeName(last.Name))
					return nil
				}
				if err != nil {
					return err
				}
				if err := showChange(cmd.OutOrStdout(), last, now, m); err != nil {
					return err
				}
				last = now
			}
		},
	}
	o.flags(cmd)
	cmd.Flags().DurationVar(&every, "every", 2*time.Second, "time between two looks")
	return cmd
}

// minEvery keeps one who looks on from taking a processor of the job's.
const minEvery = 100 * time.Millisecond

// errNoJob means that there is no job to show.
var errNoJob = errors.New("no running job counts")

// job finds the job that is meant.
func (o *statsOptions) job(args []string) (*stats.Job, error) {
	pool, where := o.pool, ""
	if pool == "" {
		s, err := settings.Parse(os.Environ())
		if err != nil {
			return nil, err
		}
		pool = s.Pool
	}
	jobs, err := stats.Read(pool)
	if err != nil {
		return nil, err
	}
	if pool != "" {
		where = " in " + pool
	}
	var wanted []stats.Job
	var names []string
	for _, j := range jobs {
		if len(args) == 0 && j.Running() || len(args) > 0 && strings.HasPrefix(j.Name, args[0]) {
			wanted = append(wanted, j)
			names = append(names, safeName(j.Name))
		}
	}
	switch {
	case len(wanted) == 1:
		return &wanted[0], nil
	case len(wanted) > 1:
		return nil, fmt.Errorf("several jobs count%s; name one of %s", where, strings.Join(names, ", "))
	case len(args) > 0:
		return nil, fmt.Errorf("%w under the name %s%s", errNoJob, args[0], where)
	case pool == "":
		return nil, fmt.Errorf("%w; start one with CMPI_STATS=1, and name its pool by --pool if it has one", errNoJob)
	}
	return nil, fmt.Errorf("%w%s; start one with CMPI_STATS=1", errNoJob, where)
}

func findMeasure(name string) (stats.Measure, error) {
	for _, m := range stats.Measures {
		if m.Name == name {
			return m, nil
		}
	}
	return stats.Measure{}, fmt.Errorf("--map %s: write one of %s", name, measureNames())
}

func measureNames() string {
	var names []string
	for _, m := range stats.Measures {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

func show(w io.Writer, j *stats.Job, m stats.Measure, width int) error {
	if err := j.Write(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return j.Heat(w, m, width)
}

// showChange shows what has been counted between two looks: on a terminal in
// place of what is there, else below it.
func showChange(w io.Writer, last, now *stats.Job, m stats.Measure) error {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		const homeAndClear = "\x1b[H\x1b[2J"
		fmt.Fprint(w, homeAndClear)
	}
	fmt.Fprintf(w, "%s: %.1f s\n", now.Seen.Format(time.TimeOnly), now.Seen.Sub(last.Seen).Seconds())
	return show(w, now.Since(last), m, terminalWidth())
}

// terminalWidth is how many columns there are; 80 where nobody knows.
func terminalWidth() int {
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}
