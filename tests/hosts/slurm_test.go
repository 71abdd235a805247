package hosts

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"cmpi/tests/hosts/lab"
	"cmpi/tests/job"
)

// TestSlurm starts jobs through Slurm, between two hosts: by each of the ways in
// docs/launchers.md.
func TestSlurm(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Slurm cluster; not with -short")
	}
	library := job.Library(t)
	names := []string{"ring", "traffic", "rma_halo"}
	dir := buildPrograms(t, names...)
	l := newLab(t, 2)
	err := l.StartSlurm(t.Context())
	if errors.Is(err, lab.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	// srun and salloc are --quiet: they may have to wait until Slurm has cleared
	// away the job before, and say so.
	const ranks = 4
	j := job.Job{Ranks: ranks, Mode: job.Flush}
	settings := []string{"CMPI_VERBOSE=1", "CMPI_REQUIRE=1"}
	preload := "LD_PRELOAD=" + l.FinalizeFix() + ":" + library
	alloc := []string{"salloc", "--quiet", "-N", "2", "-n", strconv.Itoa(ranks)}
	env := append([]string{"env", preload}, settings...)
	cmpi := []string{filepath.Join(root(t), "build/out/cmpi"), "run", "--lib", library, "--set", settings[0], "--set", settings[1]}

	for _, tc := range []struct {
		name     string
		launcher []string
		programs []string
		ours     bool // needs the command cmpi
	}{
		{"srun", join([]string{"srun", "--quiet", "--mpi=pmi2", "-N", "2", "-n", strconv.Itoa(ranks)}, env), names, false},
		{"srun in an allocation", join(alloc, []string{"srun", "--quiet", "--mpi=pmi2"}, env), names[:1], false},
		{"hydra", join(alloc, []string{"mpiexec.mpich"}, env), names, false},
		{"hydra, named", join(alloc, []string{"mpiexec.mpich", "-bootstrap", "slurm", "-n", strconv.Itoa(ranks)}, env), names[:1], false},
		{"cmpi run", join(alloc, cmpi), names[:1], true},
		{"cmpi run by srun", join(cmpi, []string{"--launcher", "srun", "--launcher-arg=--quiet", "-n", strconv.Itoa(ranks), "--hosts", "h1,h2"}), names[:1], true},
	} {
		for _, name := range tc.programs {
			t.Run(tc.name+"/"+name, func(t *testing.T) {
				if tc.ours {
					if _, err := os.Stat(cmpi[0]); err != nil {
						t.Skipf("the command is not built (make lib): %v", err)
					}
				}
				r := login(t, l, join(tc.launcher, []string{filepath.Join(dir, name)}), "LD_PRELOAD="+preloadFor(tc.ours, l))
				if !r.OK() || r.Stdout != "OK "+name+"\n" || r.Stderr != carried(l, j) {
					t.Errorf("%v", r)
				}
				checkClean(t, l)
			})
		}
	}

	t.Run("C interface", func(t *testing.T) {
		program := filepath.Join(dir, "cmpi_ring")
		folder := filepath.Dir(library)
		build := exec.Command("cc", "-O2", "-I../../c/include", "-o", program, "../../c/examples/cmpi_ring.c", "-L"+folder, "-lcmpi", "-Wl,-rpath,"+folder)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("cc: %v\n%s", err, out)
		}
		r := login(t, l, []string{"srun", "--quiet", "-N", "2", "-n", strconv.Itoa(ranks), "sh", "-c",
			"CMPI_RANK=$SLURM_PROCID CMPI_SIZE=$SLURM_NTASKS CMPI_JOB=$SLURM_JOB_ID.$SLURM_STEP_ID exec " + program}, "CMPI_COHERENCE=flush")
		if !r.OK() || r.Stdout != "4 ranks, 1000 rounds: token 4000, want 4000\n" || r.Stderr != "" {
			t.Errorf("%v", r)
		}
		checkClean(t, l)
	})

	// What cmpi run gives srun wins over what the environment has.
	t.Run("settings", func(t *testing.T) {
		r := login(t, l, join(cmpi, []string{"--launcher", "srun", "--launcher-arg=--quiet", "-n", "1", "--set", "CMPI_SEED=7", "--set", "CMPI_JOB=a,b",
			"sh", "-c", "echo $CMPI_SEED $CMPI_JOB $LD_PRELOAD"}), "LD_PRELOAD="+l.FinalizeFix(), "CMPI_SEED=6")
		if want := "7 a,b " + l.FinalizeFix() + ":" + library + "\n"; !r.OK() || r.Stdout != want {
			t.Errorf("%v, want %s", r, want)
		}
	})
}

// preloadFor is what this process's environment preloads: cmpi run puts the
// library behind it, the other command lines name all themselves.
func preloadFor(ours bool, l *lab.Lab) string {
	if ours {
		return l.FinalizeFix()
	}
	return ""
}

// join makes one command line of several parts.
func join(parts ...[]string) (argv []string) {
	for _, p := range parts {
		argv = append(argv, p...)
	}
	return argv
}

// login runs a command on the login node, with more variables.
func login(t *testing.T, l *lab.Lab, argv []string, env ...string) job.Result {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(l.Login(), argv...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The tasks of one that hangs end with the lab.
	timer := time.AfterFunc(job.DefaultLimit, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	timer.Stop()
	r := job.Result{Stdout: out.String(), Stderr: errs.String(), Err: err, Elapsed: time.Since(start)}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		r.Code, r.Err = exit.ExitCode(), nil
	}
	return r
}
