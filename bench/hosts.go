package bench

import (
	"fmt"
	"slices"
	"strings"
)

// Hosts says how programs are started between two hosts, and which networks
// MPICH is measured on there. Rank 0 is in one host and rank 1 in the other, on
// processors that they don't share.
type Hosts struct {
	Mpiexec  []string // takes mpiexec's arguments
	Before   []string // libraries to preload before ours
	Networks []Network
}

// Network is one that MPI messages can take.
type Network struct {
	Name       string // Ethernet or SlowEthernet
	Title      string
	Mpiexec    []string // takes mpiexec's arguments, for this network
	Iterations int      // of small messages where the usual number would take too long; 0: the usual
}

// Names of the networks, which are those of the variants on them.
const (
	Ethernet     = "tcp"
	SlowEthernet = "tcp-slow"
)

const (
	// hostsMaxBytes is the largest message between hosts, as in the cMPI paper.
	hostsMaxBytes = 8 << 20
	// hostsWindow is a quarter of the usual: 64 messages of 8 MiB take a slow
	// network 5 s each time.
	hostsWindow = 16
)

// hostsBenchmarks are what the cMPI paper measures between hosts.
var hostsBenchmarks = []string{Latency, BW, PutFlush, GetFlush, PutBW, GetBW}

// HostsNames are the names of the benchmarks between hosts.
func HostsNames() []string { return slices.Clone(hostsBenchmarks) }

// hostsGoals are ratios to MPICH on a network like the paper's Ethernet, which
// are the paper's, and on one that is a copy inside the kernel.
var hostsGoals = func() []goal {
	var goals []goal
	for _, b := range []struct {
		name, text string
		rate       bool
	}{
		{Latency, "8 B latency", false}, {PutFlush, "8 B put and flush", false}, {GetFlush, "8 B get and flush", false},
		{BW, "bandwidth 64 KiB–8 MiB", true}, {PutBW, "put bandwidth 64 KiB–8 MiB", true}, {GetBW, "get bandwidth 64 KiB–8 MiB", true},
	} {
		for _, n := range []struct {
			name, text    string
			latency, rate float64
		}{
			{SlowEthernet, "slow network", 49, 72},
			{Ethernet, "plain veth", 10, 2},
		} {
			g := goal{at: small, bound: n.latency, ours: of(b.name, n.name), theirs: of(b.name, Flush)}
			g.text = b.text + ", MPICH on the " + n.text + " / flush"
			if b.rate {
				g.at, g.bound = place{sizeRange{bulkMin, hostsMaxBytes}, axisBytes}, n.rate
				g.ours, g.theirs = g.theirs, g.ours
				g.text = b.text + ", flush / MPICH on the " + n.text
			}
			goals = append(goals, g)
		}
	}
	return goals
}()

// variants are the ways in which these options have programs run.
func (o Options) variants() []Variant {
	if o.Hosts == nil {
		return variants
	}
	var vs []Variant
	for _, n := range o.Hosts.Networks {
		vs = append(vs, Variant{Name: n.Name, Title: n.Title, host: mpich, starter: n.Mpiexec, iterations: n.Iterations})
	}
	return append(vs, Variant{Name: Flush, Title: "cMPI flush", Settings: []string{"CMPI_COHERENCE=flush"},
		host: mpich, starter: o.Hosts.Mpiexec, before: o.Hosts.Before})
}

// title is the benchmark's, with the window that it has.
func (o Options) title(b Benchmark) string {
	if o.Hosts == nil {
		return b.Title
	}
	return strings.Replace(b.Title, "window 64", fmt.Sprintf("window %d", hostsWindow), 1)
}

// goals are what these options are judged by.
func (o Options) goals() []goal {
	if o.Hosts != nil {
		return hostsGoals
	}
	return goals
}
