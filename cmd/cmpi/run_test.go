package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asCommand makes the test binary the command cmpi.
const asCommand = "TEST_AS_CMPI"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Unsetenv(asCommand)
		main()
		return
	}
	if args := os.Getenv(victimEnv); args != "" {
		victim(args)
	}
	os.Exit(m.Run())
}

// command is cmpi as a process of its own.
func command(args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	cmd = exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// fakeLauncher makes an mpiexec that starts one rank as our library would speak.
// Its options are those of MPICH that cmpi run uses.
func fakeLauncher(t *testing.T, says string) (path, library string) {
	t.Helper()
	dir := t.TempDir()
	library = filepath.Join(dir, "libcmpi.so")
	path = filepath.Join(dir, "mpiexec")
	script := `#!/bin/sh
case $1 in --version) echo HYDRA; exit;; esac
while :; do case $1 in
	-n|-hosts) shift 2;;
	-genv) eval "env_$2=\$3"; shift 3;;
	*) break;;
esac; done
` + says + `
exec "$@"
`
	for file, text := range map[string]string{path: script, library: ""} {
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return path, library
}

const sayCarried = `echo "cmpi: 2 ranks over /dev/shm/x (y) (64 MiB), flush mode" >&2`

func TestRunExitStatus(t *testing.T) {
	mpiexec, library := fakeLauncher(t, sayCarried)
	for _, tc := range []struct {
		script string
		want   int
	}{{"exit 0", 0}, {"exit 3", 3}, {"kill -TERM $$", 128 + 15}} {
		for _, summary := range []bool{false, true} {
			args := []string{"run", "--lib", library, "--mpiexec", mpiexec}
			if summary {
				args = append(args, "--summary")
			}
			cmd, _, stderr := command(append(args, "--", "sh", "-c", tc.script)...)
			cmd.Run()
			got := cmd.ProcessState.ExitCode()
			if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
				got = 128 + int(ws.Signal())
			}
			if got != tc.want {
				t.Errorf("%s, summary %v: status %d, want %d; %s", tc.script, summary, got, tc.want, stderr)
			}
			if summary && !strings.Contains(stderr.String(), "cmpi: exit status "+strconv.Itoa(tc.want)) {
				t.Errorf("%s: %s", tc.script, stderr)
			}
		}
	}
}

func TestRunSummary(t *testing.T) {
	t.Setenv("CMPI_VERBOSE", "") // as the environment may have it
	for _, tc := range []struct {
		name    string
		says    string
		verbose string
		want    runSummary
		shown   string // on stderr beside the summary
	}{
		{"carried", sayCarried, "0", runSummary{Carried: true, Ranks: 2, Mode: "flush", Pool: "/dev/shm/x (y)", PoolMiB: 64}, ""},
		{"line asked for", sayCarried, "1", runSummary{Carried: true, Ranks: 2, Mode: "flush", Pool: "/dev/shm/x (y)", PoolMiB: 64},
			"cmpi: 2 ranks over /dev/shm/x (y) (64 MiB), flush mode\n"},
		{"counted", sayCarried + `; echo "cmpi: 2 ranks: 1.2k messages, 3.0 MiB (eager 1.2k); 0 unexpected" >&2`, "0",
			runSummary{Carried: true, Ranks: 2, Mode: "flush", Pool: "/dev/shm/x (y)", PoolMiB: 64, Counted: "1.2k messages, 3.0 MiB (eager 1.2k); 0 unexpected"}, ""},
		{"alone", `echo "cmpi: no pool; make one; running on the host MPI alone" >&2`, "0", runSummary{NotReason: "no pool; make one"},
			"cmpi: no pool; make one; running on the host MPI alone\n"},
		{"other words", `printf 'c\ncmp\ncmpi: else\nprompt? ' >&2`, "0", runSummary{}, "c\ncmp\ncmpi: else\nprompt? "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mpiexec, library := fakeLauncher(t, `[ "$env_CMPI_VERBOSE" = 1 ] || exit 9`+"\n"+tc.says)
			cmd, stdout, stderr := command("run", "--lib", library, "--mpiexec", mpiexec, "--summary", "--json", "--set", "CMPI_VERBOSE="+tc.verbose,
				"--", "echo", "--summary", "out")
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v: %s", err, stderr)
			}
			if stdout.String() != "--summary out\n" {
				t.Errorf("stdout %q", stdout)
			}
			at := strings.LastIndex(stderr.String(), `{"program"`)
			if at < 0 || stderr.String()[:at] != tc.shown {
				t.Fatalf("stderr %q, want %q and a summary", stderr, tc.shown)
			}
			var got runSummary
			if err := json.Unmarshal(stderr.Bytes()[at:], &got); err != nil {
				t.Fatal(err)
			}
			if got.Carried != tc.want.Carried || got.Ranks != tc.want.Ranks || got.Mode != tc.want.Mode || got.Pool != tc.want.Pool ||
				got.PoolMiB != tc.want.PoolMiB || got.NotReason != tc.want.NotReason || got.Counted != tc.want.Counted || got.Launcher != mpiexec || len(got.Program) != 3 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestRunSignals: what is sent to cmpi run reaches the launcher and the program.
func TestRunSignals(t *testing.T) {
	mpiexec, library := fakeLauncher(t, "")
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			continue // these tests run under nohup: so does what they start
		}
		cmd, _, stderr := command("run", "--lib", library, "--mpiexec", mpiexec, "--summary", "--",
			"sh", "-c", `trap "exit 42" TERM INT USR1 HUP; echo ready; while :; do sleep 0.02; done`)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal whose foreground it could be
		cmd.Stdout = nil
		ready, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := ready.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		cmd.Process.Signal(sig)
		timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		cmd.Wait()
		timer.Stop()
		if got := cmd.ProcessState.ExitCode(); got != 42 {
			t.Errorf("%v: status %d; %s", sig, got, stderr)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	mpiexec, library := fakeLauncher(t, "")
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--lib", library, "--mpiexec", mpiexec, "--set", "CMPI_COHERENCE=wet", "true"}, "CMPI_COHERENCE=wet"},
		{[]string{"--lib", "/none", "--mpiexec", mpiexec, "true"}, "no library at"},
		{[]string{"--lib", library, "--mpiexec", "/none", "true"}, "there is no /none"},
		{[]string{"--lib", library, "-n", "-2", "true"}, "-n -2"},
		{[]string{"--lib", library, "--json", "true"}, "--json is for --summary"},
		{[]string{"--lib", library}, "requires at least 1 arg"},
	} {
		_, stderr, err := execute(t, append([]string{"run"}, tc.args...)...)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q; %s", tc.args, err, tc.want, stderr)
		}
	}
}

// TestRunForReal runs an MPI program; the line that the summary is made of is
// then the library's own.
func TestRunForReal(t *testing.T) {
	library, err := filepath.Abs("../../build/out/libcmpi.so")
	if err != nil {
		t.Fatal(err)
	}
	for _, need := range []string{"mpicc.mpich", "mpiexec.mpich"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("MPICH is not installed (build/setup installs it): %v", err)
		}
	}
	if _, err := os.Stat(library); err != nil {
		t.Skipf("the library is not built (make lib): %v", err)
	}
	dir := t.TempDir()
	source := `#include <mpi.h>
int main(int argc, char **argv) { MPI_Init(&argc, &argv); MPI_Finalize(); return 5; }
`
	if err := os.WriteFile(filepath.Join(dir, "p.c"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mpicc.mpich", "-o", filepath.Join(dir, "p"), filepath.Join(dir, "p.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, tc := range []struct {
		set  string
		want string
	}{
		{"CMPI_COHERENCE=flush", "MiB), flush mode"},
		{"CMPI_POOL=" + filepath.Join(dir, "p.c"), "not carried: pool " + filepath.Join(dir, "p.c") + ": not a cMPI pool"},
		{"CMPI_STATS=1", "MiB), coherent mode; 0 messages, 0 B; 0 unexpected\n"},
		{"CMPI_DISABLE=1", "not carried: the ranks did not say why"},
	} {
		cmd, _, stderr := command("run", "-n", "2", "--lib", library, "--summary", "--set", tc.set, filepath.Join(dir, "p"))
		cmd.Run()
		if cmd.ProcessState.ExitCode() != 5 || !strings.Contains(stderr.String(), "cmpi: exit status 5, ") || !strings.Contains(stderr.String(), tc.want) {
			t.Errorf("%s: status %d, %s", tc.set, cmd.ProcessState.ExitCode(), stderr)
		}
	}
}
