package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"cmpi/cmd/cmpi/probe"
	"cmpi/flush"
	"cmpi/settings"
)

// checkHosts starts a process on each host through the launcher, and compares
// what they see.
func (d *doctor) checkHosts(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("where is this command? %w", err)
	}
	l, err := d.find()
	if err != nil || d.library == "" {
		return nil // noted already
	}
	if flush.Caps().WriteBack == "" {
		d.fail("hosts", "use hosts on x86-64", "this CPU or build has no cache instructions, without which hosts can't share memory")
		return nil
	}
	mode := string(settings.CoherenceFlush)
	if d.settings.Coherence != settings.CoherenceAuto && d.settings.Coherence != settings.CoherenceEmulate {
		mode = string(d.settings.Coherence)
	}
	c := probe.Config{Token: newToken(), Size: len(d.hosts), Timeout: probeTimeout}
	if c.Pool.Path = d.settings.Pool; c.Pool.Path == "" {
		c.Pool.Path, c.Make = d.probePool(c.Token)
	} // else what is there counts, not what this machine sees
	argv := d.onHosts(l, d.hosts, append([]string{self}, probeArgs(c, d.library, mode)...))
	reports, err := startProbe(ctx, c, argv)
	sort.Slice(reports, func(i, j int) bool { return reports[i].Rank < reports[j].Rank })
	if err != nil || len(reports) < len(d.hosts) {
		d.blameHosts(ctx, l, self, reports, err)
		return nil
	}
	d.compareHosts(reports)
	names := map[int]string{}
	for _, r := range reports {
		names[r.Rank] = "host " + r.Host + ": "
	}
	for _, r := range reports[1:] {
		names[r.Rank] = fmt.Sprintf("hosts %s and %s: ", reports[0].Host, r.Host)
	}
	d.noteTrips("exchange", mode, reports, nil, names)
	return nil
}

// onHosts is the launcher's command line for one process on each host, without
// the library: it is the command's own processes that run there.
func (d *doctor) onHosts(l launcher, hosts, program []string) []string {
	f := d.launcherFlags
	f.hosts, f.ranks = hosts, len(hosts)
	f.options = append(slices.Clone(l.perHost), f.options...)
	var variables []string
	for _, kv := range os.Environ() {
		if strings.HasPrefix(kv, settings.Prefix) {
			variables = append(variables, kv)
		}
	}
	return l.command(&f, variables, program)
}

// compareHosts sees whether all hosts have the same.
func (d *doctor) compareHosts(reports []probeReport) {
	first, same := reports[0], true
	differ := func(remedy, format string, args ...any) {
		same = false
		d.fail("hosts", remedy, format, args...)
	}
	domains := map[string]bool{}
	for _, r := range reports {
		domains[r.Domain] = true
		switch {
		case r.LibraryError != "":
			differ("install the library at the same path on all hosts", "host %s: %s", r.Host, r.LibraryError)
		case r.Version != first.Version || r.Library != first.Library && first.LibraryError == "":
			differ("install the same version on all hosts", "hosts %s and %s have different libraries", first.Host, r.Host)
		}
		if r.PoolID != first.PoolID && r.PoolID != "" && first.PoolID != "" {
			differ("give the path of the same memory on each host", "the pool is another one on host %s than on %s", r.Host, first.Host)
		}
	}
	if same {
		kernels := "on one kernel"
		if len(domains) > 1 {
			kernels = fmt.Sprintf("in %d coherence domains, so mode flush", len(domains))
		}
		d.ok("hosts", "%s with the same library, %s", plural(len(reports), "host"), kernels)
	}
	if len(domains) > 1 && d.settings.Pool == "" {
		d.fail("hosts", "name a pool that all of them see by CMPI_POOL", "the hosts share no pool: each has its own %s", defaultPoolDir)
	}
}

// hostTimeout bounds a look at one host: ssh takes seconds, a host that is off
// never answers.
const hostTimeout = 10 * time.Second

// blameHosts finds out which host did not answer, and why.
func (d *doctor) blameHosts(ctx context.Context, l launcher, self string, reports []probeReport, err error) {
	blames := make([]*diagnosis, len(d.hosts))
	var wg sync.WaitGroup
	for i, host := range d.hosts {
		wg.Go(func() { blames[i] = d.blameHost(ctx, l, self, host) })
	}
	wg.Wait()
	blamed := false
	for _, b := range blames {
		if b != nil {
			blamed = true
			d.found = append(d.found, *b)
		}
	}
	if blamed {
		return
	}
	if err == nil {
		err = fmt.Errorf("%d of %d processes answered", len(reports), len(d.hosts))
	}
	d.failErr("hosts", err, "run by hand: "+shellLine(d.onHosts(l, d.hosts, []string{self, "version"})))
}

// blameHost is what is wrong with a host; nil: nothing that shows.
func (d *doctor) blameHost(ctx context.Context, l launcher, self, host string) *diagnosis {
	hostname := d.onHosts(l, []string{host}, []string{"hostname"})
	for _, try := range []struct {
		program      []string
		what, remedy string
	}{
		{[]string{"true"}, "nothing can be started there", "see what the launcher says: " + shellLine(hostname)},
		{[]string{"test", "-r", d.library}, d.library + " can't be read there", "install the library at the same path on all hosts"},
		{[]string{"test", "-x", self}, self + " is not there", "install this command at the same path on all hosts"},
	} {
		c, cancel := context.WithTimeout(ctx, hostTimeout)
		argv := d.onHosts(l, []string{host}, try.program)
		failed := politeCommand(c, argv).Run() != nil
		cancel()
		if failed {
			return &diagnosis{levelFail, "hosts", "host " + host + ": " + try.what, try.remedy}
		}
	}
	return nil
}
