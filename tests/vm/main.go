package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// What the guests start with.
var (
	//go:embed guest/init
	initScript []byte
	//go:embed guest/boot
	bootScript []byte
	//go:embed guest/ssh_config
	sshConfig []byte
)

// defaultTimeout is several times what both devices take on two idle cores.
const defaultTimeout = 40 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "vm:", err)
		os.Exit(1)
	}
}

// options are what the user asked for.
type options struct {
	device     string
	only       []string
	keep, json bool
	timeout    time.Duration
}

func command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "vm",
		Short: "The library on two emulated machines that share a memory device",
		Long: `Starts two virtual machines with Debian's kernel that share one memory device and
nothing else, and runs the library on it: the pool's metadata from both sides, the C
examples, MPI programs that verify every byte, and power cuts.

What is missing is installed by build/setup --vm. Logs go to build/out/vm. The exit
status is 1 if a step failed, 0 if all passed or nothing could be tried here.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true, // main prints them
		RunE:          func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	fs := cmd.Flags()
	fs.StringVar(&o.device, "device", "both", names(devices)+" or both")
	fs.StringSliceVar(&o.only, "only", nil, "of the MPI programs only these, as ring,rma_hash")
	fs.BoolVar(&o.keep, "keep", false, "after the steps leave the guests running until Ctrl-C (one device only)")
	fs.DurationVar(&o.timeout, "timeout", defaultTimeout, "time for everything")
	fs.BoolVar(&o.json, "json", false, "print the results as JSON; progress goes to stderr")
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	chosen, err := choose(o.device)
	if err != nil {
		return err
	}
	if o.keep && len(chosen) > 1 {
		return errors.New("--keep takes one device; add --device nvdimm or --device cxl")
	}
	if err := checkPrograms(o.only); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	r := &report{start: time.Now(), progress: cmd.OutOrStdout()}
	if o.json {
		r.progress = cmd.ErrOrStderr()
	}
	m, err := prepare(ctx, r.progress)
	if errors.Is(err, errUnavailable) {
		fmt.Fprintf(r.progress, "vm: skipped: %v\n", err)
		return nil
	}
	if err != nil {
		return err
	}
	for _, d := range chosen {
		if ctx.Err() != nil {
			break // the device before it says why
		}
		if err := try(ctx, m, d, o, r); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	if err := r.write(m.out); err != nil {
		return err
	}
	if o.json {
		enc := json.NewEncoder(cmd.OutOrStdout())
		enc.SetIndent("", "  ")
		if err := enc.Encode(r.records); err != nil {
			return err
		}
	}
	fmt.Fprintf(r.progress, "%s; logs in %s\n", r.summary(), m.out)
	if n := r.count(failed) + r.count(skipped); n > 0 {
		return fmt.Errorf("%d steps did not pass", n)
	}
	return nil
}

// choose is the meaning of --device.
func choose(name string) ([]device, error) {
	if name == "both" {
		return devices, nil
	}
	i := slices.IndexFunc(devices, func(d device) bool { return d.name == name })
	if i < 0 {
		return nil, fmt.Errorf("--device %s: there are %s and both", name, names(devices))
	}
	return devices[i : i+1], nil
}
