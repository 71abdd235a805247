package main

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

// commandTimeout ends a command that hangs; none takes a tenth of it.
const commandTimeout = 10 * time.Minute

// command runs a command as a test with the given name: it passes when the
// command exits 0.
func (r *report) command(name string, argv ...string) {
	r.commandAgain(name, func(string) bool { return false }, argv...)
}

// commandAgain runs a command once more when what it printed on its failure says
// nothing about what it tests.
func (r *report) commandAgain(name string, void func(out string) bool, argv ...string) {
	start := time.Now()
	out, err := execute(argv)
	if err != nil && void(out) {
		out, err = execute(argv)
	}
	t := test{name: name, status: passed, seconds: time.Since(start).Seconds()}
	detail := "ok"
	if err != nil {
		detail = "FAILED"
		t.status = failed
		t.output = "$ " + strings.Join(argv, " ") + "\n" + out + err.Error()
	}
	r.progress(name, start, detail)
	r.add(t)
}

func execute(argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second // for grandchildren that keep the pipe open
	out, err := cmd.CombinedOutput()
	return string(out), err
}
