package main

// #include <stdlib.h>
// #include "lifecycle.h"
import "C"

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// rescue is deferred by every exported function. A panic is a fault of ours; it
// becomes one line and the end of the job, as an error that MPI cannot return.
func rescue() {
	r := recover()
	if r == nil {
		return
	}
	fatal("internal error: %v (at %s); please report it", r, panicSite())
}

// panicSite names the function and line that panicked.
func panicSite() string {
	lines := strings.Split(string(debug.Stack()), "\n")
	for i, l := range lines {
		// What follows the last runtime frame of the panic is its cause.
		if strings.HasPrefix(l, "panic(") && i+3 < len(lines) {
			site := strings.TrimSpace(lines[i+3])
			site, _, _ = strings.Cut(site, " +")
			return site[strings.LastIndex(site, "/")+1:]
		}
	}
	return "unknown place"
}

// say writes one line to the standard error output.
func say(format string, args ...any) {
	fmt.Fprintln(os.Stderr, "cmpi: "+strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " "))
}

// died ends this rank, and with it the job, because another rank is gone that the
// launcher may never miss. What this one holds of the pool is left to the next
// job, as its thread may be using it at this moment.
func died(rank int32, silent time.Duration) {
	if e := endpoint; e == nil || e.Domain(int32(e.Rank())) == int32(e.Rank()) { // one line per host is enough
		say("rank %d has given no sign of life for %v, so its host is down or cut off; ending the job (CMPI_DEAD_AFTER=%v)",
			rank, silent.Round(time.Second/10), theJob.deadAfter)
	}
	os.Exit(1)
}

// evicted ends this rank because this host was taken for dead: what it has in the
// pool may by now be somebody else's.
func evicted() {
	say("this host gave no sign of life in the pool for so long that it was taken for dead; ending the job")
	os.Exit(1)
}

// fatal says why and ends the job. What this rank holds of the pool stays, as in
// MPI_Abort: its peers use it until they end, too. The next job frees it.
func fatal(format string, args ...any) {
	say(format, args...)
	if theJob.mpi {
		C.cmpi_world_abort(1)
	}
	os.Exit(1)
}
