package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cmpi/flush"
	"cmpi/settings"
)

// level is how bad a finding is.
type level string

// The levels. With one fail, a job will not run as it should.
const (
	levelOK   level = "ok"
	levelWarn level = "warn"
	levelFail level = "fail"
)

// diagnosis is one thing that cmpi doctor has looked at.
type diagnosis struct {
	Level  level  `json:"level"`
	Check  string `json:"check"`
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

// doctor looks at this machine and notes what it finds.
type doctor struct {
	launcherFlags
	lib     string // as given
	program string
	asJSON  bool

	root     string // in front of /proc and /sys; tests put another tree there
	settings settings.Settings
	library  string // its path; "" if there is none
	job      decision
	found    []diagnosis
}

func doctorCommand() *cobra.Command {
	var d doctor
	cmd := &cobra.Command{
		Use:   "doctor [--hosts A,B,...] [PROGRAM]",
		Short: "Check what matters before a first run, each finding with its remedy",
		Long: `Checks what matters before a first run on this machine: settings, library, MPI
library and launcher, the pool, memory, limits, whether processes reach one another
through the pool and the kernel copies between them; and PROGRAM, if given.

With --hosts it starts one process on each host through the launcher, which checks
the same library, pool and exchange there. This command must be installed at the
same path on all of them.

Nothing is changed but for a small object in the pool, which is removed again. The
exit status is 1 when anything fails.`,
		Example: `  cmpi doctor ./program
  CMPI_POOL=/dev/dax0.0 cmpi doctor --hosts a,b`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				d.program = args[0]
			}
			if err := d.examine(cmd.Context()); err != nil {
				return err
			}
			var err error
			if d.asJSON {
				err = writeJSON(cmd.OutOrStdout(), d.found)
			} else {
				err = d.write(cmd.OutOrStdout())
			}
			if err == nil && d.worst() == levelFail {
				err = exitStatus(1)
			}
			return err
		},
	}
	libraryFlag(cmd, &d.lib)
	d.add(cmd)
	jsonFlag(cmd, &d.asJSON)
	return cmd
}

func (d *doctor) note(l level, check, remedy, format string, args ...any) {
	d.found = append(d.found, diagnosis{l, check, fmt.Sprintf(format, args...), remedy})
}

func (d *doctor) ok(check, format string, args ...any) { d.note(levelOK, check, "", format, args...) }

func (d *doctor) warn(check, remedy, format string, args ...any) {
	d.note(levelWarn, check, remedy, format, args...)
}

func (d *doctor) fail(check, remedy, format string, args ...any) {
	d.note(levelFail, check, remedy, format, args...)
}

// failErr notes an error whose text may end in a remedy.
func (d *doctor) failErr(check string, err error, remedy string) {
	text := err.Error()
	if i := strings.LastIndex(text, "; "); i >= 0 && remedy == "" {
		text, remedy = text[:i], text[i+2:]
	}
	d.fail(check, remedy, "%s", text)
}

// failed says whether a check has failed.
func (d *doctor) failed(check string) bool {
	return slices.ContainsFunc(d.found, func(f diagnosis) bool { return f.Check == check && f.Level == levelFail })
}

// worst is the worst level of all.
func (d *doctor) worst() level {
	w := levelOK
	for _, f := range d.found {
		if f.Level == levelFail || f.Level == levelWarn && w == levelOK {
			w = f.Level
		}
	}
	return w
}

func (d *doctor) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	count := map[level]int{}
	for _, f := range d.found {
		count[f.Level]++
		text := f.Text
		if f.Remedy != "" {
			text += ": " + f.Remedy
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Level, f.Check, text)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d ok, %s, %d failed\n", count[levelOK], plural(count[levelWarn], "warning"), count[levelFail])
	return err
}

// examine makes all checks. The error is for what keeps it from beginning.
func (d *doctor) examine(ctx context.Context) error {
	var err error
	d.settings, err = settings.Parse(os.Environ())
	if err != nil {
		d.fail("settings", "cmpi info lists all", "%v", err)
	} else {
		d.checkSettings(os.Environ())
	}
	d.job = decideHere(d.settings)
	d.checkCPU(flush.Caps())
	d.checkLibrary()
	d.checkMPI(ctx)
	if d.program != "" {
		d.checkProgram()
	}
	d.checkPool()
	d.checkHugePages()
	d.checkLimits()
	if err != nil || d.settings.Disable {
		return nil // no process starts with wrong settings
	}
	if len(d.hosts) == 0 && d.failed("pool") {
		return nil // that much is known
	}
	if len(d.hosts) > 0 {
		return d.checkHosts(ctx)
	}
	return d.checkExchange(ctx)
}

// probePool is the pool in which processes try to reach one another: that of
// jobs, or one that is made beside where it would be.
func (d *doctor) probePool(token string) (path string, made bool) {
	path = d.settings.Pool
	if path == "" {
		return filepath.Join(defaultPoolDir, "cmpi-doctor-"+token), true
	}
	st, err := os.Stat(path)
	if err == nil && st.Mode()&os.ModeCharDevice != 0 {
		return path, false
	}
	if err != nil || st.Size() == 0 {
		// Jobs make the pool when they start; that is not for us.
		return path + ".doctor-" + token, true
	}
	return path, false
}

func newToken() string {
	var b [8]byte
	rand.Read(b[:]) // never fails, says its documentation
	return hex.EncodeToString(b[:])
}
