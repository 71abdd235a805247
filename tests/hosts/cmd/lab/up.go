package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cmpi/tests/hosts/lab"
)

func upCommand() *cobra.Command {
	c := lab.Config{Persistent: true}
	var sizeMiB int64
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Make a lab",
		Long: `Makes hosts h1, h2, ... and a head from which mpiexec reaches them. The pool is
a file made for this lab, or --pool; host hK sees it as /srv/hK/pool. The working
folder is seen by all hosts, as is everything but /tmp, /dev/shm and /srv.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			here, err := os.Getwd()
			if err != nil {
				return err
			}
			c.Name, c.PoolSize = name, sizeMiB<<20
			if here != "/tmp" && here != "/dev/shm" && here != "/srv" {
				c.Keep = append(c.Keep, here)
			}
			start := time.Now()
			l, err := lab.Up(cmd.Context(), c)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "lab %s: %d hosts in %.1f s, pool %s\n", l.Name, len(l.Hosts), time.Since(start).Seconds(), l.Pool)
			return nil
		},
	}
	fs := cmd.Flags()
	fs.IntVarP(&c.Hosts, "hosts", "n", 2, "number of hosts")
	fs.StringVar(&c.Pool, "pool", "", "file or device to share (default: a sparse file in /dev/shm, removed with the lab)")
	fs.Int64Var(&sizeMiB, "pool-size", lab.DefaultPoolSize>>20, "size of the file that is made, MiB")
	fs.StringArrayVar(&c.Keep, "keep", nil, "another folder below /tmp, /dev/shm or /srv that the hosts are to see")
	return cmd
}

func listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show the labs of this machine",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			labs := []*lab.Lab{}
			for _, n := range lab.Names() {
				l, err := lab.Open(n)
				if err != nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "lab: %v; \"down --name %s\" removes what is left of it\n", err, n)
					continue
				}
				labs = append(labs, l)
			}
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", " ")
				return enc.Encode(labs)
			}
			return writeLabs(cmd.OutOrStdout(), labs)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func writeLabs(w io.Writer, labs []*lab.Lab) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "lab\thost\tstate\taddress\tprocessors\tpool")
	for _, l := range labs {
		for _, h := range l.Hosts {
			state := "up"
			if !h.Up() {
				state = "off"
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%v\t%s -> %s\n", l.Name, h.Name, state, h.Address, h.CPUs, h.Pool, l.Pool)
		}
	}
	return t.Flush()
}

func downCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "End a lab and remove all that belongs to it; of labs that were left behind, too",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := lab.Sweep(); err != nil {
				return err
			}
			if !all {
				return lab.Down(name)
			}
			for _, n := range lab.Names() {
				if err := lab.Down(n); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all labs of this machine, also those of running tests")
	return cmd
}

func slowCommand() *cobra.Command {
	s := lab.Ethernet
	var off bool
	cmd := &cobra.Command{
		Use:   "slow",
		Short: "Put a slow network between the hosts",
		Long: `Adds a network in which every frame takes --delay and every host has --rate, and
makes MPI programs that "run" starts use it. The defaults measure like gigabit
Ethernet, 33 µs and 117 MB/s between MPI programs.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := open()
			if err != nil {
				return err
			}
			if off {
				return l.StopSlow()
			}
			return l.StartSlow(cmd.Context(), s)
		},
	}
	fs := cmd.Flags()
	fs.DurationVar(&s.Delay, "delay", s.Delay, "time that a frame takes beside its transfer")
	fs.Int64Var(&s.Rate, "rate", s.Rate, "bits per second of each host")
	fs.BoolVar(&s.Realtime, "realtime", false, "give the switch real-time priority, for exact times on a machine of which all cores are busy")
	fs.BoolVar(&off, "off", false, "remove it again")
	return cmd
}
