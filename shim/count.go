package main

// #include "fast.h"
import "C"

import (
	"time"
	"unsafe"

	"cmpi/mpitransport/window"
	"cmpi/settings"
	"cmpi/stats"
)

// counting is this rank's part of CMPI_STATS=1; zero without it.
var counting struct {
	table *stats.Table
	stop  chan struct{}
	done  chan struct{}
}

// publishEvery is how old counters may be that others see, where counting in the
// pool itself would be dear: a glance's time.
const publishEvery = 100 * time.Millisecond

// startCounting makes the counters, if they are wanted and there is room.
func startCounting(s settings.Settings, rank, size int) *stats.Table {
	if !s.Stats {
		return nil
	}
	t, err := stats.New(theJob.pool, theJob.name, rank, size)
	if err != nil {
		say("rank %d: %v; going on without", rank, err)
		return nil
	}
	counting.table, counting.stop, counting.done = t, make(chan struct{}), make(chan struct{})
	if fast != nil {
		C.cmpi_peers = (*C.struct_cmpi_fast_peer)(unsafe.Pointer(&fast[0]))
		C.cmpi_pairs = (*C.struct_cmpi_pair)(unsafe.Pointer(&t.Pairs[0]))
	}
	go publish(t, counting.stop, counting.done)
	return t
}

func publish(t *stats.Table, stop, done chan struct{}) {
	defer close(done)
	defer rescue()
	tick := time.NewTicker(publishEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			t.Publish()
			return
		case <-tick.C:
			t.Publish()
		}
	}
}

// settleCounters makes what this rank has counted final for others to read.
func settleCounters() {
	if counting.stop != nil {
		close(counting.stop)
		<-counting.done
		counting.stop = nil
	}
}

// stopCounting gives the counters back.
func stopCounting() {
	if counting.table == nil {
		return
	}
	settleCounters()
	C.cmpi_pairs = nil
	if err := counting.table.Drop(); err != nil {
		say("counters could not be given back: %v", err)
	}
	counting.table = nil
}

// summarize has rank 0 say what all have counted. All have settled theirs.
func summarize() {
	if counting.table == nil || endpoint.Rank() != 0 {
		return
	}
	jobs, err := stats.Jobs(theJob.pool)
	if err != nil {
		say("the counters can't be read: %v", err)
		return
	}
	for i := range jobs {
		if jobs[i].Name == theJob.name {
			say("%s", jobs[i].Summary())
		}
	}
}

// Operations on windows.
const (
	countedPut = iota
	countedGet
	countedUpdate
)

// count counts an operation of the origin on a target, if it succeeded; it gives
// the class back.
func (w *win) count(op int, target C.int, bytes int64, class C.int) C.int {
	if counting.table == nil || class != success || target < 0 {
		return class
	}
	p := &counting.table.Pairs[w.comm.Members()[target]]
	t := [...]*stats.Traffic{&p.Puts, &p.Gets, &p.Updates}[op]
	t.Add(uint64(bytes))
	return class
}

// bytesOf is how long the data of one side is.
func bytesOf(d window.Data) int64 { return d.Count * d.Type.Size() }
