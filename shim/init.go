package main

// #include <stdlib.h>
// #include "shim.h"
// #include "comms.h"
// #include "types.h"
// #include "lifecycle.h"
import "C"

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cmpi/arena"
	"cmpi/flush"
	"cmpi/mpitransport"
	"cmpi/ringq"
	"cmpi/settings"
)

// endpoint is this process's engine, nil before and after our part.
var endpoint *mpitransport.Endpoint

// theJob is what Finalize has to undo.
var theJob struct {
	mpi    bool   // started by MPI_Init, so that there is a host to turn to
	name   string // its name in the pool
	fast   bool   // windows may have a fast path in C
	pool   *arena.Arena
	near   *arena.Arena // memory that only neighbours share; nil: the pool is good enough for them
	helper *helper

	deadAfter time.Duration // CMPI_DEAD_AFTER
}

// errDisabled is the reason not to run that nobody needs to hear.
var errDisabled = errors.New("CMPI_DISABLE=1")

// goInit is called when the host's MPI_Init has succeeded. All ranks decide
// together whether we carry the job, in three or four exchanges:
//
//  1. Every rank has understood its settings, and they fit together; rank 0 has
//     a pool and tells its identity.
//  2. All have mapped the same pool, and freed what the dead of their hosts left
//     in it.
//  3. If it is not this job's own, rank 0 has found room in it.
//  4. All have joined the job in the pool. Files made for this job are unlinked
//     now, so that nothing can be left behind.
//
// Where a step fails on one rank, all go on with the host MPI alone, and rank 0
// says why. The result says whether they shall stop instead.
//
//export goInit
func goInit() (stop C.int) {
	defer rescue()
	if endpoint != nil {
		return 0 // cmpi_init came first: the host has the MPI job to itself on all ranks
	}
	theJob.mpi = true
	restoreSignals()
	var rank, size, threaded C.int
	if C.cmpi_world(&rank, &size, &threaded) != success {
		return 0 // a broken host says so itself
	}
	w := world{rank: int(rank), size: int(size)}
	s, err := settings.Parse(environ())
	if err = w.begin(s, err, threaded != 0); err == nil {
		if s.Verbose && w.rank == 0 {
			say("%d ranks over %s (%d MiB), %v mode", w.size, theJob.pool.Path(), theJob.pool.Size()>>20, theJob.pool.View().Mode())
		}
		return 0
	}
	leave()
	if errors.Is(err, errDisabled) {
		return 0
	}
	consequence := "running on the host MPI alone"
	if w.required {
		consequence = "stopping because CMPI_REQUIRE=1"
	}
	if w.rank == 0 {
		say("%v; %s", err, consequence)
	}
	return truth(w.required)
}

// world is MPI_COMM_WORLD, over which the host agrees for us.
type world struct {
	rank, size int
	required   bool // by any rank: all stop or none does
}

// problemWidth bounds the text of a problem that one rank tells the others: two
// paths of common length and what to do about them.
const problemWidth = 1024

// introduction is what each rank tells the others first.
type introduction struct {
	boot, host [16]byte // the kernel, and the coherence domain
	shm        uint64   // which file system jobFileDir is
	uid        uint32
	settings   [8]byte    // a digest of those that all must share
	flags      byte       // the flag bits
	inv        invitation // of rank 0
	problem    problemText
}

// problemText is a problem as it travels: at least one zero byte ends it.
type problemText [problemWidth]byte

// write stores what fits. The end, which says what to do, is worth more than
// the middle, which may be a path of any length.
func (p *problemText) write(problem error) {
	if problem == nil {
		return
	}
	text := problem.Error()
	const ellipsis = "..."
	if most := len(p) - 1; len(text) > most {
		half := (most - len(ellipsis)) / 2
		text = text[:half] + ellipsis + text[len(text)-half:]
	}
	copy(p[:], text)
}

const (
	flagDisabled = 1 << iota
	flagRequire
	flagNoPool
)

// introduce exchanges introductions; the error is the same on all ranks.
func (w *world) introduce(s settings.Settings, inv invitation, problem error) ([]introduction, error) {
	mine := introduction{boot: arena.BootID(), settings: digest(s), inv: inv}
	mine.host, mine.shm, mine.uid = hostID(s), fileSystem(jobFileDir), uint32(os.Getuid())
	if s.Disable {
		mine.flags |= flagDisabled
		problem = nil
	}
	if s.Require {
		mine.flags |= flagRequire
	}
	if s.Pool == "" {
		mine.flags |= flagNoPool
	}
	mine.problem.write(problem)
	all := make([]introduction, w.size)
	C.cmpi_world_allgather(unsafe.Pointer(&mine), C.int(unsafe.Sizeof(mine)), unsafe.Pointer(&all[0]))
	for _, i := range all {
		if i.flags&flagDisabled != 0 {
			return nil, errDisabled
		}
		w.required = w.required || i.flags&flagRequire != 0
	}
	for r := range all {
		if text := cString(all[r].problem[:]); text != "" {
			return nil, w.blame(r, text)
		}
	}
	for r, i := range all {
		switch {
		case i.settings != all[0].settings || i.flags != all[0].flags:
			return nil, fmt.Errorf("ranks 0 and %d have different CMPI_ settings; give all ranks the same", r)
		case i.flags&flagNoPool != 0 && i.boot != all[0].boot:
			return nil, errors.New("the ranks run on several hosts and there is no pool that they share; name it by CMPI_POOL")
		}
	}
	return all, nil
}

// blame says whose problem it is when there are several ranks.
func (w *world) blame(rank int, text string) error {
	if w.size == 1 || rank == 0 {
		return errors.New(text)
	}
	return fmt.Errorf("rank %d: %s", rank, text)
}

// common makes a problem of one rank that of all.
func (w *world) common(problem error) error {
	var mine problemText
	mine.write(problem)
	all := make([]problemText, w.size)
	C.cmpi_world_allgather(unsafe.Pointer(&mine), C.int(len(mine)), unsafe.Pointer(&all[0]))
	for r := range all {
		if text := cString(all[r][:]); text != "" {
			return w.blame(r, text)
		}
	}
	return nil
}

// invitation is what rank 0 tells of the pool.
type invitation struct {
	path [256]byte // of a pool made for this job; empty when the user named one
	pool [16]byte  // its identity
	job  [16]byte  // the job's name in it
}

// begin does all these steps; the error is the same on all ranks.
func (w *world) begin(s settings.Settings, err error, threaded bool) error {
	var (
		inv  invitation
		made *jobFile
	)
	cfg := poolConfig(s, firstMode(s))
	if w.rank == 0 && err == nil && !s.Disable {
		made, err = w.invite(s, &cfg, &inv)
	}
	if made != nil {
		defer made.unlink()
	}
	ranks, err := w.introduce(s, inv, err)
	if err != nil {
		return err
	}
	err = w.accept(s, &cfg, ranks)
	mates := neighbours(ranks, w.rank, cfg.Mode)
	if err == nil && len(mates) > 1 && mates[0] == int32(w.rank) {
		var near *jobFile
		if near, err = w.makeNear(s, ranks); err == nil {
			defer near.unlink()
		}
	}
	if err == nil && s.Pool != "" && firstOfHost(ranks, w.rank) {
		w.collect()
	}
	if err = w.common(err); err != nil {
		return err
	}
	if s.Pool != "" {
		// Now that the dead of each host are gone, and none of them has the pool lock.
		if w.rank == 0 {
			err = w.makeRoom(s, &ranks[0].inv)
		}
		if err = w.common(err); err != nil {
			return err
		}
	}
	return w.common(w.join(s, ranks, mates, threaded))
}

// neighbours are the ranks, in order, that share coherent memory of this machine
// with rank: where the pool is not coherent between all, they need not pay for
// that. They have one coherence domain, and each finds the file that one of them
// makes: containers of one kernel may have file systems of their own. A job in
// one domain that was told not to rely on coherence has none, so that one sees
// on one host what goes on between several.
func neighbours(ranks []introduction, rank int, mode flush.Mode) (list []int32) {
	self := &ranks[rank]
	several := false
	for r := range ranks {
		other := &ranks[r]
		several = several || other.host != self.host
		if other.host == self.host && other.boot == self.boot && other.shm == self.shm && other.uid == self.uid {
			list = append(list, int32(r))
		}
	}
	if mode == flush.Coherent || !several || self.shm == 0 {
		return nil
	}
	return list
}

// nearPath is where the memory of a job's neighbours has its name while they
// start.
func nearPath(ranks []introduction, host [16]byte) string {
	// Several groups of one kernel (CMPI_HOST) may share the directory.
	return fmt.Sprintf("%s/%s%s-%x", jobFileDir, jobFilePrefix(), cString(ranks[0].inv.job[:]), host)
}

func nearConfig(s settings.Settings, path string) arena.Config {
	c := poolConfig(s, flush.Coherent)
	c.Path, c.Create, c.Private = path, false, true
	return c
}

// makeNear makes the memory that this rank shares with its neighbours.
func (w *world) makeNear(s settings.Settings, ranks []introduction) (*jobFile, error) {
	sweepJobFiles()
	made, err := lockedJobFile(nearPath(ranks, hostID(s)))
	if err != nil {
		return nil, err
	}
	c := nearConfig(s, made.path)
	c.Create = true
	if theJob.near, err = arena.Open(c); err != nil {
		made.unlink()
		return nil, err
	}
	return made, nil
}

// openNear opens what makeNear has made.
func openNear(s settings.Settings, ranks []introduction) (err error) {
	if theJob.near == nil {
		theJob.near, err = arena.Open(nearConfig(s, nearPath(ranks, hostID(s))))
	}
	return err
}

// join joins the job in the pool and takes MPI_COMM_WORLD over.
func (w *world) join(s settings.Settings, ranks []introduction, mates []int32, threaded bool) (err error) {
	theJob.name, theJob.fast = cString(ranks[0].inv.job[:]), s.Fast
	c := engineConfig(s, w.rank, w.size, localRanks(ranks, w.rank), theJob.name)
	if len(mates) > 1 {
		if err = openNear(s, ranks); err != nil {
			return err
		}
		c.Near, c.Neighbours = theJob.near, mates
	}
	if s.Fast && !threaded && (theJob.near != nil || theJob.pool.View().Mode() == flush.Coherent) {
		if c.Fast = makeFast(w.size); c.Fast != nil {
			c.FastRequests = fastRequests()
		}
	}
	c.Stats = startCounting(s, w.rank, w.size)
	if endpoint, err = mpitransport.New(c); err != nil {
		return err
	}
	if threaded {
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), waitingThreads))
	}
	C.cmpi_state.shared_pool = C.int32_t(truth(s.SharedPool))
	endpoint.SetThreaded(threaded)
	atomic.StoreInt32(stateThreaded, int32(truth(threaded)))
	atomic.StoreInt32(stateCrowded, int32(truth(endpoint.Oversubscribed())))
	return take()
}

// waitingThreads is how many threads of the program can be inside us at once
// without one that waits keeping others out: each takes one of Go's processors.
const waitingThreads = 64

// roomPerRank is the space that a pool must have left for each rank: what the
// engine takes when a rank first sends. With less, the job would start and then
// fail in its first message.
const roomPerRank = 1 << 20

// ringOverhead is more than a ring has beside its lines.
const ringOverhead = 4 << 10

// newRoom is tryRoom for a pool of our own, which is in one piece: it sees
// whether the file system has the space.
func (w *world) newRoom(s settings.Settings, path string) error {
	n := int64(w.size) * rankRoom(s)
	full := &arena.Error{Op: "room for the ranks", Path: path, Detail: fmt.Sprintf("%d ranks need %d MiB", w.size, n>>20)}
	if lo, hi := theJob.pool.Bounds(); hi-lo < n {
		full.Err = arena.ErrPoolFull
		return full
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err == nil && int64(fs.Bavail)*fs.Bsize < n {
		full.Err = arena.ErrNoSpace
		return full
	}
	return nil // what the file system doesn't tell the engine will find out
}

func rankRoom(s settings.Settings) int64 {
	return max(roomPerRank, int64(s.RingLines)*flush.LineSize+ringOverhead)
}

// tryRoom sees whether every rank would find its first piece of the pool. It
// takes all of them, because the free space may lie in pieces, and gives them
// back.
func (w *world) tryRoom(s settings.Settings, job string) (err error) {
	n := rankRoom(s)
	for r := range w.size {
		trial, e := theJob.pool.Create(fmt.Sprintf("j/%s/room/%d", job, r), n)
		if e != nil {
			return fmt.Errorf("no room for %d ranks: %w", w.size, e)
		}
		defer func() { err = errors.Join(err, trial.Destroy()) }()
	}
	return nil
}

// collect frees what dead jobs have left in the pool, as far as it was this
// host's.
func (w *world) collect() {
	if _, _, err := mpitransport.Collect(theJob.pool, true); err != nil {
		say("rank %d: what dead jobs left in the pool could not be freed: %v", w.rank, err)
	}
}

// invite makes or opens the pool on rank 0 and sees whether there is room.
func (w *world) invite(s settings.Settings, cfg *arena.Config, inv *invitation) (made *jobFile, err error) {
	var job [8]byte
	if _, err = rand.Read(job[:]); err != nil {
		return nil, fmt.Errorf("no random numbers for a job name: %w", err)
	}
	copy(inv.job[:], hex.EncodeToString(job[:]))
	if s.Pool == "" {
		sweepJobFiles()
		if made, err = newJobFile(); err != nil {
			return nil, err
		}
		cfg.Path = made.path
		copy(inv.path[:len(inv.path)-1], made.path)
	}
	if theJob.pool, err = arena.Open(*cfg); err != nil {
		return made, err
	}
	inv.pool = theJob.pool.ID()
	if made != nil {
		return made, w.newRoom(s, made.path)
	}
	return nil, nil
}

// makeRoom frees what dead hosts have left, and sees whether there is room in a
// pool that others use, too.
func (w *world) makeRoom(s settings.Settings, inv *invitation) error {
	if _, _, err := mpitransport.EvictSilent(theJob.pool); err != nil {
		say("what dead hosts left in the pool could not be freed: %v", err)
	}
	return w.tryRoom(s, cString(inv.job[:]))
}

// accept opens the pool that rank 0 has opened, in the mode that all agree on;
// rank 0 opens it once more if that is not the one it began with.
func (w *world) accept(s settings.Settings, cfg *arena.Config, ranks []introduction) (err error) {
	inv := &ranks[0].inv
	if cfg.Mode, err = coherence(s, ranks); err != nil {
		return err
	}
	if w.rank == 0 {
		if theJob.pool.View().Mode() == cfg.Mode {
			return nil
		}
		closePool()
	}
	if path := cString(inv.path[:]); path != "" {
		cfg.Path = path
	}
	cfg.Create = false
	if theJob.pool, err = arena.Open(*cfg); err != nil {
		return err
	}
	if theJob.pool.ID() != inv.pool {
		return fmt.Errorf("%s is another pool here than on rank 0", cfg.Path)
	}
	return nil
}

// take makes us the carrier of MPI_COMM_WORLD and MPI_COMM_SELF.
func take() error {
	initComms()
	initTypes()
	if C.cmpi_comms_init() != success || C.cmpi_types_init() != success {
		return errors.New("the host MPI refuses attribute keys")
	}
	if adopt(commWorld, mpitransport.WorldContext) != success || adopt(commSelf, endpoint.SelfContext()) != success {
		return errors.New("MPI_COMM_WORLD and MPI_COMM_SELF could not be taken over")
	}
	atomic.StoreInt32(stateActive, 1)
	theJob.helper = startHelper()
	return nil
}

// leave undoes what was begun when the ranks have decided against us.
func leave() {
	if comms.list.Load() != nil {
		stopHelper()
		forgetComms()
	}
	if endpoint != nil {
		endpoint.Abandon()
		endpoint = nil
	}
	stopCounting()
	closePool()
}

func stopHelper() {
	atomic.StoreInt32(stateActive, 0)
	if theJob.helper != nil {
		theJob.helper.end()
		theJob.helper = nil
	}
}

func closePool() {
	for _, p := range []**arena.Arena{&theJob.pool, &theJob.near} {
		if *p != nil {
			_ = (*p).Close() // it ends with the process anyway
			*p = nil
		}
	}
}

// goFinish ends our part inside the host's MPI_Finalize, after the program's
// own callbacks. The host's barrier comes first: in it both libraries make
// progress, so that no rank waits for one that has stopped to.
//
//export goFinish
func goFinish() {
	defer rescue()
	if endpoint == nil {
		return
	}
	settleCounters()
	C.cmpi_world_barrier()
	stopHelper()
	summarize()
	freePooled()
	if err := endpoint.Finalize(); err != nil {
		say("rank %d: %v", endpoint.Rank(), err)
	}
	forgetComms()
	endpoint = nil
	stopCounting()
	freeFast()
	closePool()
}

// ---- choices ------------------------------------------------------------------------

// hostID names this rank's coherence domain.
func hostID(s settings.Settings) [16]byte { return arena.HostID(s.Host) }

// digest is the same on ranks whose settings fit together. The pool may have
// different names on different hosts.
func digest(s settings.Settings) (d [8]byte) {
	s.Pool, s.Host, s.Verbose, s.Require, s.Disable, s.Seed = "", "", false, false, false, 0
	s.Rank, s.Size, s.Job = 0, 0, ""
	h := fnv.New64a()
	fmt.Fprintf(h, "%+v", s)
	h.Sum(d[:0])
	return d
}

// coherence is the mode of the job.
func coherence(s settings.Settings, ranks []introduction) (flush.Mode, error) {
	if s.Coherence != settings.CoherenceAuto {
		return flush.ParseMode(string(s.Coherence))
	}
	for _, r := range ranks {
		if r.host != ranks[0].host {
			return flush.Flush, nil
		}
	}
	return flush.Coherent, nil
}

// firstMode is the mode in which rank 0 opens the pool before it knows the other
// ranks: one that is right in any case, or at least for a pool of its own.
func firstMode(s settings.Settings) flush.Mode {
	if m, err := flush.ParseMode(string(s.Coherence)); err == nil {
		return m
	}
	if s.Pool != "" {
		return flush.Flush
	}
	return flush.Coherent
}

// delayed tells why a call takes long.
func delayed(host string, after time.Duration) {
	say("waiting for the pool: %s has its lock and gives no sign of life; after %v it is taken for dead", host, after)
}

func poolConfig(s settings.Settings, mode flush.Mode) arena.Config {
	return arena.Config{Path: s.Pool, Size: s.PoolSize, Create: true, Mode: mode, HostID: arena.KernelID(s.Host), Private: s.Pool == "", Evicted: evicted, Delayed: delayed,
		Flush: flush.Options{NoVector: s.NoVector, Seed: s.Seed, Chaos: s.Chaos}}
}

// localRanks is how many ranks share this one's kernel.
func localRanks(ranks []introduction, rank int) (n int) {
	for _, r := range ranks {
		if r.boot == ranks[rank].boot {
			n++
		}
	}
	return n
}

func engineConfig(s settings.Settings, rank, size, local int, job string) mpitransport.Config {
	c := mpitransport.Config{Rank: rank, Size: size, LocalRanks: local, Arena: theJob.pool, Job: job, Host: hostID(s),
		EagerLimit: int(s.EagerLimit), SingleCopyMin: s.SingleCopyMin, StageLimit: s.StageLimit, RingLines: s.RingLines, SeqBits: s.SeqBits, NoSingleCopy: !s.SingleCopy}
	if s.DeadAfter > 0 {
		c.DeadAfter, c.Dead = s.DeadAfter, died
		theJob.deadAfter = s.DeadAfter
	}
	if s.Ring == settings.RingPaper {
		c.Ring = ringq.Cell
	}
	return c
}

// firstOfHost reports whether rank is the lowest of its host, as the pool knows it
// (arena.KernelID).
func firstOfHost(ranks []introduction, rank int) bool {
	for r := range rank {
		if ranks[r].host == ranks[rank].host && ranks[r].boot == ranks[rank].boot {
			return false
		}
	}
	return true
}

// environ is the environment as it is now: the program may have changed it since
// Go took its copy.
func environ() (list []string) {
	for i := C.int(0); ; i++ {
		p := C.cmpi_environ(i)
		if p == nil {
			return list
		}
		list = append(list, C.GoString(p))
	}
}

// cString is the text before the first zero byte.
func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// restoreSignals puts the dispositions back that Go's start has changed.
func restoreSignals() { C.cmpi_restore_signals() }
