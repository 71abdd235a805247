package mpitransport

import (
	"bytes"

	"cmpi/flush"
)

// Domain names the coherence domain of a rank: two ranks have the same number if
// they see each other's plain stores. It is the lowest rank of the domain. In
// emulate mode every process has a cache of its own and is its own domain. So it
// is when a job on one host has been told not to rely on coherence: that is how
// one sees on one host what goes on between several.
func (e *Endpoint) Domain(rank int32) int32 {
	if m := e.pool.view.Mode(); m == flush.Emulate || m != flush.Coherent && e.oneHost() {
		return rank
	}
	for r := range rank {
		if e.peers[r].info.host == e.peers[rank].info.host {
			return r
		}
	}
	return rank
}

// oneHost reports whether all ranks are of one host.
func (e *Endpoint) oneHost() bool {
	for r := range e.peers {
		if e.peers[r].info.host != e.peers[0].info.host {
			return false
		}
	}
	return true
}

// Alive reports whether the process of a rank still runs. Of one on another
// machine, or in another pid namespace, that isn't known, and the answer is
// true; so it is when another process has got its number since.
func (e *Endpoint) Alive(rank int32) bool {
	return !e.sameKernel(rank) || processRuns(e.peers[rank].info.pid)
}

// sameKernel reports whether the number of a rank's process means something to
// this process.
func (e *Endpoint) sameKernel(rank int32) bool {
	p, self := &e.peers[rank].info, &e.peers[e.rank].info
	return p.pid != 0 && p.host == self.host && p.pidns == self.pidns && self.pidns != 0
}

// runs tells from the text of /proc/PID/stat whether the process still runs: one
// that has ended stays, as a zombie, until its parent has asked for its fate.
// The state follows the name, which is in parentheses and may contain any.
func runs(stat []byte) bool {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 || i+2 >= len(stat) {
		return true
	}
	state := stat[i+2]
	return state != 'Z' && state != 'X'
}
