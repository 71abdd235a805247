package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cmpi/settings"
)

// The values of --launcher.
const (
	launcherAuto    = "auto"
	launcherMpiexec = "mpiexec"
	launcherSrun    = "srun"
)

// launcherFlags say which command starts the ranks, and with which options.
type launcherFlags struct {
	kind    string // of the constants above
	mpiexec string // a certain mpiexec
	ranks   int    // 0: not given
	hosts   []string
	options []string // passed on as they are
}

func (f *launcherFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.kind, "launcher", launcherAuto, "what starts the ranks: auto, mpiexec or srun")
	fs.StringVar(&f.mpiexec, "mpiexec", "", "the mpiexec to use (default: mpiexec.mpich, else mpiexec)")
	fs.StringSliceVar(&f.hosts, "hosts", nil, "run on these hosts, as a,b")
	fs.StringArrayVar(&f.options, "launcher-arg", nil, "one more argument for the launcher, as it is (repeatable)")
	_ = cmd.RegisterFlagCompletionFunc("launcher", cobra.FixedCompletions(
		[]string{launcherAuto, launcherMpiexec, launcherSrun}, cobra.ShellCompDirectiveNoFileComp))
}

// dialect is the options that a launcher understands.
type dialect struct {
	name    string
	hosts   string   // names the hosts, separated by commas
	perHost []string // one rank per host
	// export is the arguments before the program that give the ranks variables,
	// NAME=value each.
	export func(variables []string) []string
	// protocol is the arguments that make it speak the protocol of MPICH's family,
	// unless the options or the environment choose one.
	protocol func(options []string, getenv func(string) string) []string
}

// noProtocol is for launchers that need not be told.
func noProtocol([]string, func(string) string) []string { return nil }

var (
	hydra = dialect{"MPICH", "-hosts", []string{"-ppn", "1"}, func(variables []string) (args []string) {
		for _, v := range variables {
			name, value, _ := strings.Cut(v, "=")
			args = append(args, "-genv", name, value)
		}
		return args
	}, noProtocol}
	orte = dialect{"Open MPI", "--host", []string{"--map-by", "node"}, func(variables []string) (args []string) {
		for _, v := range variables {
			args = append(args, "-x", v)
		}
		return args
	}, noProtocol}
	// Not --export: what the environment has already would win, LD_PRELOAD for
	// example, and a value could have no comma.
	slurm = dialect{"Slurm", "--nodelist", []string{"--ntasks-per-node=1"}, func(variables []string) []string {
		return append([]string{"/usr/bin/env"}, variables...) // there may be no PATH
	}, pmi2}
)

// pmi2 makes srun speak MPICH's protocol. Most clusters have another one as the
// default, or none, with which each rank is a job of its own, without a word.
func pmi2(options []string, getenv func(string) string) []string {
	chosen := func(option string) bool { return option == "--mpi" || strings.HasPrefix(option, "--mpi=") }
	if getenv("SLURM_MPI_TYPE") != "" || slices.ContainsFunc(options, chosen) {
		return nil
	}
	return []string{"--mpi=pmi2"}
}

// launcher is a command that starts ranks.
type launcher struct {
	path string
	dialect
}

// inAllocation says whether Slurm has given us nodes.
func inAllocation(getenv func(string) string) bool { return getenv("SLURM_JOB_ID") != "" }

// find finds the launcher. In a Slurm allocation mpiexec comes first, too: it
// starts its ranks through srun there, and speaks the protocol of its library in
// any case. srun does only if its protocol is the right one (pmi2).
func (f *launcherFlags) find() (launcher, error) {
	var tried []string
	look := func(names ...string) (string, bool) {
		tried = append(tried, names...)
		for _, name := range names {
			if path, err := exec.LookPath(name); err == nil {
				return path, true
			}
		}
		return "", false
	}
	switch f.kind {
	case launcherAuto, launcherMpiexec, launcherSrun:
	default:
		return launcher{}, fmt.Errorf("--launcher %s: write auto, mpiexec or srun", f.kind)
	}
	if f.mpiexec != "" && f.kind == launcherSrun {
		return launcher{}, errors.New("--mpiexec and --launcher srun contradict each other")
	}
	if f.kind != launcherSrun {
		names := []string{"mpiexec.mpich", "mpiexec"}
		if f.mpiexec != "" {
			names = []string{f.mpiexec}
		}
		if path, ok := look(names...); ok {
			return launcher{path, dialectOf(path)}, nil
		}
	}
	if f.kind == launcherSrun || f.kind == launcherAuto && f.mpiexec == "" && inAllocation(os.Getenv) {
		if path, ok := look("srun"); ok {
			return launcher{path, slurm}, nil
		}
	}
	hint := "install one (apt-get install mpich), or give its path with --mpiexec"
	if f.kind == launcherSrun {
		hint = "is this a node of a Slurm cluster?"
	}
	return launcher{}, fmt.Errorf("there is no %s; %s", strings.Join(tried, " or "), hint)
}

// dialectOf asks an mpiexec whose it is. What doesn't tell is taken for one of
// MPICH's family, whose libraries are those that are carried.
func dialectOf(path string) dialect {
	out, _ := exec.Command(path, "--version").Output()
	if text := string(out); strings.Contains(text, "Open MPI") || strings.Contains(text, "OpenRTE") || strings.Contains(text, "PRRTE") {
		return orte
	}
	return hydra
}

// command is the launcher's command line for a program. variables, NAME=value
// each, reach the ranks and nobody else.
func (l launcher) command(f *launcherFlags, variables, program []string) []string {
	argv := []string{l.path}
	if f.ranks > 0 {
		argv = append(argv, "-n", strconv.Itoa(f.ranks))
	}
	if len(f.hosts) > 0 {
		argv = append(argv, l.dialect.hosts, strings.Join(f.hosts, ","))
	}
	argv = append(argv, l.protocol(f.options, os.Getenv)...)
	argv = append(argv, f.options...)
	argv = append(argv, l.export(variables)...)
	return append(argv, program...)
}

// rankVariables are what the ranks get: the library to preload, behind what the
// user preloads himself, and all settings, once they are known to be right.
func rankVariables(environ []string, library string, set []string) ([]string, error) {
	preload := library
	variables := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case name == "LD_PRELOAD" && value != "": // tools stay above us
			preload = value + ":" + library
		case strings.HasPrefix(name, settings.Prefix):
			variables[name] = value
		}
	}
	for _, kv := range set {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || !strings.HasPrefix(name, settings.Prefix) {
			return nil, fmt.Errorf("--set %s: write %sNAME=VALUE", kv, settings.Prefix)
		}
		variables[name] = value
	}
	var list []string
	for name, value := range variables {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	if _, err := settings.Parse(list); err != nil {
		return nil, err
	}
	return append(list, "LD_PRELOAD="+preload), nil
}
