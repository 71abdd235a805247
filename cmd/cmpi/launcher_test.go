package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRankVariables(t *testing.T) {
	for _, tc := range []struct {
		name    string
		environ []string
		set     []string
		want    []string
		bad     bool
	}{
		{"plain", []string{"A=b"}, nil, []string{"LD_PRELOAD=/l.so"}, false},
		{"a setting", nil, []string{"CMPI_COHERENCE=flush"}, []string{"CMPI_COHERENCE=flush", "LD_PRELOAD=/l.so"}, false},
		{"of the environment", []string{"CMPI_POOL=/p", "CMPI_COHERENCE=auto"}, []string{"CMPI_COHERENCE=flush"},
			[]string{"CMPI_COHERENCE=flush", "CMPI_POOL=/p", "LD_PRELOAD=/l.so"}, false},
		{"a tool above us", []string{"LD_PRELOAD=/t.so"}, nil, []string{"LD_PRELOAD=/t.so:/l.so"}, false},
		{"an empty preload", []string{"LD_PRELOAD="}, nil, []string{"LD_PRELOAD=/l.so"}, false},
		{"unknown setting", nil, []string{"CMPI_COHERENCY=flush"}, nil, true},
		{"wrong value", nil, []string{"CMPI_COHERENCE=wet"}, nil, true},
		{"wrong in the environment", []string{"CMPI_COHERENCE=wet"}, nil, nil, true},
		{"not ours", nil, []string{"PATH=/"}, nil, true},
		{"no value", nil, []string{"CMPI_COHERENCE"}, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := rankVariables(tc.environ, "/l.so", tc.set)
			if (err != nil) != tc.bad {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// fakeTools makes a folder with scripts of the given names and texts, and makes
// it the only one that is searched for commands.
func fakeTools(t *testing.T, tools map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range tools {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	return dir
}

const (
	sayHydra = "echo HYDRA build details:\n"
	sayOpen  = "echo 'mpiexec (Open MPI) 4.1.4'\n"
)

func TestFindLauncher(t *testing.T) {
	for _, tc := range []struct {
		name   string
		tools  map[string]string
		flags  launcherFlags
		job    string // SLURM_JOB_ID
		want   string // name of the command
		speaks string
		bad    string // part of the error
	}{
		{"MPICH's first", map[string]string{"mpiexec": sayOpen, "mpiexec.mpich": sayHydra}, launcherFlags{kind: "auto"}, "", "mpiexec.mpich", "MPICH", ""},
		{"any mpiexec", map[string]string{"mpiexec": sayHydra}, launcherFlags{kind: "auto"}, "", "mpiexec", "MPICH", ""},
		{"Open MPI's", map[string]string{"mpiexec": sayOpen}, launcherFlags{kind: "mpiexec"}, "", "mpiexec", "Open MPI", ""},
		{"a certain one", map[string]string{"mpiexec": sayHydra, "mine": sayHydra}, launcherFlags{kind: "auto", mpiexec: "mine"}, "", "mine", "MPICH", ""},
		{"mpiexec in an allocation", map[string]string{"mpiexec": sayHydra, "srun": ""}, launcherFlags{kind: "auto"}, "7", "mpiexec", "MPICH", ""},
		{"srun in an allocation", map[string]string{"srun": ""}, launcherFlags{kind: "auto"}, "7", "srun", "Slurm", ""},
		{"srun outside", map[string]string{"srun": ""}, launcherFlags{kind: "auto"}, "", "", "", "mpiexec.mpich or mpiexec; install"},
		{"srun by name", map[string]string{"srun": "", "mpiexec": sayHydra}, launcherFlags{kind: "srun"}, "", "srun", "Slurm", ""},
		{"no srun", map[string]string{"mpiexec": sayHydra}, launcherFlags{kind: "srun"}, "", "", "", "no srun"},
		{"nothing in an allocation", nil, launcherFlags{kind: "auto"}, "7", "", "", "or srun"},
		{"another word", nil, launcherFlags{kind: "slurm"}, "", "", "", "write auto, mpiexec or srun"},
		{"both", nil, launcherFlags{kind: "srun", mpiexec: "x"}, "", "", "", "contradict"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := fakeTools(t, tc.tools)
			t.Setenv("SLURM_JOB_ID", tc.job)
			l, err := tc.flags.find()
			if tc.bad != "" {
				if err == nil || !strings.Contains(err.Error(), tc.bad) {
					t.Errorf("%v, want %q", err, tc.bad)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if l.path != filepath.Join(dir, tc.want) || l.name != tc.speaks {
				t.Errorf("%s of %s, want %s of %s", l.path, l.name, tc.want, tc.speaks)
			}
		})
	}
}

func TestCommandLine(t *testing.T) {
	t.Setenv("SLURM_MPI_TYPE", "")
	f := launcherFlags{ranks: 3, hosts: []string{"a", "b"}, options: []string{"-x", "1 2"}}
	variables := []string{"CMPI_POOL=/p", "LD_PRELOAD=/l.so"}
	for _, tc := range []struct {
		dialect dialect
		want    string
	}{
		{hydra, "m -n 3 -hosts a,b -x '1 2' -genv CMPI_POOL /p -genv LD_PRELOAD /l.so prog -v"},
		{orte, "m -n 3 --host a,b -x '1 2' -x CMPI_POOL=/p -x LD_PRELOAD=/l.so prog -v"},
		{slurm, "m -n 3 --nodelist a,b --mpi=pmi2 -x '1 2' /usr/bin/env CMPI_POOL=/p LD_PRELOAD=/l.so prog -v"},
	} {
		l := launcher{"m", tc.dialect}
		if got := shellLine(l.command(&f, variables, []string{"prog", "-v"})); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.dialect.name, got, tc.want)
		}
	}
	if got := shellLine([]string{"", "it's"}); got != `'' 'it'\''s'` {
		t.Error(got)
	}
}

func TestPMI2(t *testing.T) {
	for _, tc := range []struct {
		options []string
		env     string // SLURM_MPI_TYPE
		want    bool
	}{
		{nil, "", true},
		{[]string{"--mpirun"}, "", true},
		{nil, "pmix", false},
		{[]string{"-N2", "--mpi=pmix"}, "", false},
		{[]string{"--mpi", "none"}, "", false},
	} {
		getenv := func(name string) string { return map[string]string{"SLURM_MPI_TYPE": tc.env}[name] }
		if got := len(pmi2(tc.options, getenv)) > 0; got != tc.want {
			t.Errorf("%q, environment %q: %v", tc.options, tc.env, got)
		}
	}
}
