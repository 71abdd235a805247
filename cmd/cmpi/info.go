package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cmpi/bench"
	"cmpi/flush"
	"cmpi/settings"
)

// info is what cmpi info tells.
type info struct {
	Version  string            `json:"version"`
	Library  string            `json:"library"` // "" if it was not found
	CPU      flush.Features    `json:"cpu"`
	Hosts    map[string]string `json:"mpi_libraries"` // versions by name; "" if not installed
	MPI      []mpiLibrary      `json:"mpi_found"`     // where the dynamic linker looks
	Launcher string            `json:"launcher"`      // path; "" if there is none
	Job      decision          `json:"job"`           // what one started here now would use
	Pool     poolInfo          `json:"pool"`
	Settings []settingInfo     `json:"settings"`
	Invalid  string            `json:"invalid_settings,omitempty"` // what is wrong in this environment
}

type settingInfo struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Values  string `json:"values"`
	Meaning string `json:"meaning"`
	Value   string `json:"value"` // in this environment; "" if not given
}

func infoCommand() *cobra.Command {
	var (
		lib    string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "info",
		Short: "Say what this machine offers and which settings there are",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in := gatherInfo(cmd.Context(), lib)
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), in)
			}
			return in.write(cmd.OutOrStdout())
		},
	}
	libraryFlag(cmd, &lib)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func gatherInfo(ctx context.Context, lib string) info {
	in := info{
		Version: version,
		CPU:     flush.Caps(),
		Hosts:   map[string]string{},
	}
	in.Library, _ = findLibrary(lib) // not to be there is an answer
	for _, name := range []string{"mpich", "openmpi"} {
		in.Hosts[name] = bench.HostVersion(ctx, name)
	}
	for _, v := range settings.Table() {
		in.Settings = append(in.Settings, settingInfo{v.Name, v.Default, v.Values, v.Meaning, os.Getenv(v.Name)})
	}
	s, err := settings.Parse(os.Environ())
	if err != nil {
		in.Invalid = err.Error()
	}
	in.Pool = describePool(s)
	in.MPI = mpiLibraries(ctx)
	if l, err := (&launcherFlags{kind: launcherAuto}).find(); err == nil {
		in.Launcher = l.path
	}
	in.Job = decideHere(s)
	if err != nil {
		in.Job.Mode, in.Job.Why = "", "the settings are wrong"
	}
	return in
}

func (in info) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "version\t%s\n", in.Version)
	fmt.Fprintf(t, "library\t%s\n", orNot(in.Library, "not found"))
	fmt.Fprintf(t, "cpu\t%s\n", in.CPU)
	fmt.Fprintf(t, "MPICH\t%s\n", orNot(in.Hosts["mpich"], "not installed"))
	fmt.Fprintf(t, "Open MPI\t%s\n", orNot(in.Hosts["openmpi"], "not installed"))
	for i, m := range in.MPI {
		carried := "not carried"
		if m.Carried {
			carried = "carried"
		}
		fmt.Fprintf(t, "%s\t%s: ABI of %s, %s\n", title(i, "MPI libraries"), m.Path, m.ABI, carried)
	}
	fmt.Fprintf(t, "launcher\t%s\n", orNot(in.Launcher, "none found"))
	fmt.Fprintf(t, "pool\t%s\n", in.Pool)
	for i, d := range in.Pool.Devices {
		fmt.Fprintf(t, "%s\t%s\n", title(i, "devices"), d)
	}
	fmt.Fprintf(t, "a job here\t%s: %s\n", orNot(in.Job.Mode, "the MPI library alone"), in.Job.Why)
	if in.Invalid != "" {
		fmt.Fprintf(t, "WRONG\t%s\n", in.Invalid)
	}
	fmt.Fprintf(t, "\nsetting\tdefault\tvalues\tmeaning\n")
	for _, s := range in.Settings {
		meaning := s.Meaning
		if s.Value != "" {
			meaning = "[now " + s.Value + "] " + meaning
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", s.Name, s.Default, s.Values, meaning)
	}
	return t.Flush()
}

func orNot(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
