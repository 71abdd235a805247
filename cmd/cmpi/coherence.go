package main

import (
	"fmt"
	"os"
	"strconv"

	"cmpi/arena"
	"cmpi/flush"
	"cmpi/settings"
)

// decision is what a job that was started here now would use, and why.
type decision struct {
	Mode   string `json:"mode"` // empty: none, the MPI library alone
	Why    string `json:"why"`
	Domain string `json:"domain"` // this host as a coherence domain
}

// decide makes the choice that the library makes (package shim) when all ranks
// have introduced themselves, for a job on the nodes that are known here.
func decide(s settings.Settings, getenv func(string) string) decision {
	d := decision{Domain: arena.FormatID(arena.HostID(s.Host))}
	nodes, _ := strconv.Atoi(getenv("SLURM_JOB_NUM_NODES")) // not in Slurm: 0
	several := getenv("SLURM_JOB_ID") != "" && nodes > 1
	switch {
	case s.Disable:
		d.Why = "CMPI_DISABLE=1"
	case several && s.Pool == "":
		d.Why = fmt.Sprintf("Slurm gave %d nodes, and there is no pool that they share; name it by CMPI_POOL", nodes)
	case s.Coherence != settings.CoherenceAuto:
		d.Mode, d.Why = string(s.Coherence), "CMPI_COHERENCE says so"
	case several:
		d.Mode, d.Why = string(settings.CoherenceFlush), fmt.Sprintf("auto: Slurm gave %d nodes, and nothing keeps their caches coherent", nodes)
	default:
		d.Mode, d.Why = string(settings.CoherenceCoherent), "auto: all ranks run on this kernel; with ranks on other hosts, flush"
		if s.Host != "" {
			d.Why = "auto: all ranks have CMPI_HOST=" + s.Host + "; with others, flush"
		}
	}
	if d.Mode == string(settings.CoherenceFlush) && flush.Caps().WriteBack == "" {
		d.Mode, d.Why = "", "mode flush, but this CPU or build has no cache instructions"
	}
	return d
}

// decideHere is decide in this environment.
func decideHere(s settings.Settings) decision { return decide(s, os.Getenv) }
