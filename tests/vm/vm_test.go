package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	whole      = flag.Bool("vm", false, "emulate the two machines (minutes; installs what is missing)")
	testDevice = flag.String("device", "both", "with -vm: nvdimm, cxl or both")
)

// TestMachines is the command as a test: go test ./tests/vm -vm -timeout 60m
func TestMachines(t *testing.T) {
	if !*whole {
		t.Skip("emulating two machines takes minutes; add -vm")
	}
	chosen, err := choose(*testDevice)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if deadline, ok := t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-time.Minute)) // to end the guests in
		defer cancel()
	}
	m, err := prepare(ctx, os.Stdout)
	if errors.Is(err, errUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &report{start: time.Now(), progress: os.Stdout}
	for _, d := range chosen {
		if err := try(ctx, m, d, &options{}, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, rec := range r.records {
		t.Run(rec.Device+"/"+rec.Step, func(t *testing.T) {
			switch rec.Outcome {
			case failed:
				t.Error(rec.Detail)
			case skipped:
				t.Skip(rec.Detail)
			}
		})
	}
}

func TestLoadOrder(t *testing.T) {
	const depends = `kernel/fs/overlayfs/overlay.ko:
kernel/fs/9p/9p.ko: kernel/net/9p/9pnet.ko kernel/fs/fscache/fscache.ko kernel/fs/netfs/netfs.ko
kernel/fs/netfs/netfs.ko:
kernel/fs/fscache/fscache.ko: kernel/fs/netfs/netfs.ko
kernel/net/9p/9pnet.ko:
kernel/net/9p/9pnet_virtio.ko: kernel/net/9p/9pnet.ko kernel/drivers/virtio/virtio-ring.ko
kernel/drivers/virtio/virtio-ring.ko:
`
	tests := []struct {
		names []string
		want  string
	}{
		{[]string{"overlay"}, "overlay.ko"},
		{[]string{"9p", "9pnet_virtio"}, "netfs.ko fscache.ko 9pnet.ko 9p.ko virtio-ring.ko 9pnet_virtio.ko"},
		{[]string{"virtio_ring"}, "virtio-ring.ko"},
		{[]string{"builtin"}, ""},
	}
	for _, tc := range tests {
		var got []string
		for _, f := range loadOrder(depends, tc.names) {
			got = append(got, filepath.Base(f))
		}
		if d := cmp.Diff(tc.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%v: %s", tc.names, d)
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"": "''", "/a b": "'/a b'", "it's": `'it'\''s'`} {
		if got := quote(in); got != want {
			t.Errorf("quote(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestUpLine(t *testing.T) {
	g := &guest{name: "a", console: filepath.Join(t.TempDir(), "console")}
	if _, err := g.upLine(); err == nil {
		t.Error("up without a console")
	}
	text := "[    3.5] Run /init as init process\nguest: a is up after 5.81 s, kernel 6.1.0-56-amd64, boot id c4f7679c-6f3f"
	write := func(s string) {
		if err := os.WriteFile(g.console, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(text) // the line is not complete
	if _, err := g.upLine(); err == nil {
		t.Error("up with half a line")
	}
	write(text + "-4304\r\n")
	got, err := g.upLine()
	if want := (upLine{"5.81", "c4f7679c-6f3f-4304"}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// What the user asks for is one of what there is, or an error that says so.
func TestChoices(t *testing.T) {
	for name, want := range map[string]int{"nvdimm": 1, "cxl": 1, "both": 2, "dram": 0} {
		got, err := choose(name)
		if len(got) != want || (err == nil) != (want > 0) {
			t.Errorf("choose(%s): %d devices, %v", name, len(got), err)
		}
	}
	if err := checkPrograms([]string{"ring", "rma_hash"}); err != nil {
		t.Error(err)
	}
	if err := checkPrograms([]string{"rign"}); err == nil || !strings.Contains(err.Error(), "ring") {
		t.Errorf("an unknown program: %v", err)
	}
}

// Each program that is run exists.
func TestPrograms(t *testing.T) {
	for _, p := range programs {
		found, err := filepath.Glob("../programs/src/" + p.name + ".*")
		if err != nil || len(found) != 1 {
			t.Errorf("%s: sources %v, %v", p.name, found, err)
		}
	}
}

// A guest gets the device's arguments, and both the same file.
func TestQemuArgs(t *testing.T) {
	for _, d := range devices {
		args := map[string][]string{}
		for name, peer := range map[string]string{"a": "b", "b": "a"} {
			g := &guest{name: name, peer: peer, address: "10.77.0.1", dir: "/s", port: 1}
			args[name] = g.qemuArgs(boot{kernel: kernel{dir: "/k", version: "1"}, device: d, memory: "/s/memory", labels: "/s/labels"})
			text := strings.Join(args[name], " ")
			for _, want := range []string{"mem-path=/s/memory,", "-kernel /k/boot/vmlinuz-1 ", "readonly=on", "q35," + d.machine,
				"local.path=/s/net-" + name + ",", "remote.path=/s/net-" + peer} {
				if !strings.Contains(text, want) {
					t.Errorf("%s, guest %s: no %q in %s", d.name, name, want, text)
				}
			}
		}
		differ := 0
		for i, arg := range args["a"] {
			if arg != args["b"][i] {
				differ++
			}
		}
		if differ != 3 { // name, kernel's command line, and the network between them
			t.Errorf("%s: %d arguments differ between the guests", d.name, differ)
		}
	}
}

func TestReport(t *testing.T) {
	var progress, log bytes.Buffer
	r := &report{start: time.Now(), progress: &progress, log: &log}
	for _, o := range []outcome{passed, passed, failed, skipped} {
		r.add(record{Device: "cxl", Step: "step", Outcome: o, Detail: "detail"})
	}
	if got, want := r.summary(), "2 passed, 1 failed, 1 skipped"; got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
	r.logCommand("a", "true", result{stdout: "one\ntwo\n", code: 3})
	if d := cmp.Diff(4, strings.Count(progress.String(), "\n")); d != "" {
		t.Error(d)
	}
	for _, want := range []string{"a# true\n", "           one\n           two\n", "exit code 3"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in the log:\n%s", want, log.String())
		}
	}
	dir := t.TempDir()
	if err := r.write(dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "results.json"))
	if err != nil || strings.Count(string(b), `"outcome"`) != 4 {
		t.Errorf("results.json: %v\n%s", err, b)
	}
}

// The guests' scripts are shell scripts.
func TestScripts(t *testing.T) {
	for name, script := range map[string][]byte{"init": initScript, "boot": bootScript} {
		cmd := exec.Command("sh", "-n")
		cmd.Stdin = bytes.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// No step has the name of another, so that a line in the report means one thing.
func TestSteps(t *testing.T) {
	var seen []string
	for _, s := range steps(nil) {
		if slices.Contains(seen, s.name) {
			t.Errorf("two steps %q", s.name)
		}
		seen = append(seen, s.name)
	}
	short := steps([]string{"ring"})
	if len(short) >= len(seen) || !slices.ContainsFunc(short, func(s step) bool { return s.name == "mpi: ring, 2 ranks" }) {
		t.Errorf("only ring: %d steps of %d", len(short), len(seen))
	}
}
