package settings

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"
)

// Bounds of CMPI_DEAD_AFTER: shorter, and a busy machine is taken for a dead one;
// longer, and never is meant.
const (
	MinDeadAfter = time.Second
	MaxDeadAfter = 24 * time.Hour
)

// Prefix is what all our variables begin with.
const Prefix = "CMPI_"

// Settings are the values of all variables, defaults filled in.
type Settings struct {
	Disable bool // stay inert, whatever the others say
	Require bool // stop the job rather than run on the host MPI alone
	Verbose bool // one line from rank 0 at start
	Stats   bool // count, for others to see

	Pool      string    // path of the pool; "" = a fresh file per job
	PoolSize  int64     // bytes; size of a pool file that is made
	Coherence Coherence // how caches are kept honest
	Host      string    // name of this coherence domain; "" = the kernel's boot id
	NoVector  bool      // no vector loads and stores to the pool

	SharedPool bool          // the pool counts as shared memory in MPI_Comm_split_type
	DeadAfter  time.Duration // without a sign of life; 0 = never

	Seed  uint64 // of the adversary in emulate mode; 0 = choose one
	Chaos int    // strength of that adversary, percent; DefaultChaos when not given

	Fast          bool   // small messages by the C fast path
	SingleCopyMin int64  // bytes; 0: the engine's default
	StageLimit    int64  // bytes of the pool that one rank stages messages in
	SingleCopy    bool   // large messages inside one domain straight between the processes
	EagerLimit    int64  // bytes; 0 = the engine's own choice
	RingLines     int    // 64-byte lines in a ring; 0 = the engine's own choice
	SeqBits       int    // bits of a line's sequence number; 0 = the engine's own choice
	Ring          string // RingLine or RingPaper

	Rank int    // C ABI only; -1 = not given
	Size int    // C ABI only; 0 = not given
	Job  string // C ABI only
}

// Coherence names a way to keep caches honest, or leaves the choice to us.
type Coherence string

// The values of CMPI_COHERENCE.
const (
	CoherenceAuto     Coherence = "auto"
	CoherenceCoherent Coherence = "coherent"
	CoherenceFlush    Coherence = "flush"
	CoherenceUncached Coherence = "uncached"
	CoherenceEmulate  Coherence = "emulate"
)

// The values of CMPI_RING.
const (
	RingLine  = "line"  // a flag in every line
	RingPaper = "paper" // the cMPI paper's cells, heads and tails
)

const (
	// DefaultPoolSize is enough for the rings of 32 ranks that all talk to each
	// other and for what is in flight; a file costs only what is touched of it.
	DefaultPoolSize = 1 << 30
	// MinPoolSize is below what any job could work with; smaller values are
	// taken for a forgotten unit.
	MinPoolSize = 1 << 20
	// DefaultChaos leaves the choice to package flush.
	DefaultChaos = -1
)

// Defaults are the settings of an empty environment.
func Defaults() Settings {
	s := Settings{}
	for _, v := range table {
		if v.Default == "" {
			continue
		}
		if err := v.parse(&s, v.Default); err != nil {
			panic(fmt.Sprintf("settings: default of %s: %v", v.Name, err))
		}
	}
	s.Rank, s.Chaos = -1, DefaultChaos
	return s
}

// Parse reads the CMPI_* variables among environ ("NAME=value" as in
// os.Environ) and leaves the rest alone. An empty value counts as not given.
// The error, if any, is one line that names every variable that is wrong.
func Parse(environ []string) (Settings, error) {
	s := Defaults()
	var errs []error
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, Prefix) {
			continue
		}
		v := find(name)
		switch {
		case v == nil:
			errs = append(errs, fmt.Errorf("unknown setting %s (did you mean %s?)", name, Nearest(name, Names())))
		case value != "":
			if err := v.parse(&s, value); err != nil {
				errs = append(errs, fmt.Errorf("%s=%s: %w", name, value, err))
			}
		}
	}
	if s.Size > 0 && s.Rank >= s.Size {
		errs = append(errs, fmt.Errorf("CMPI_RANK=%d is not below CMPI_SIZE=%d", s.Rank, s.Size))
	}
	return s, oneLine(errs)
}

func oneLine(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	texts := make([]string, len(errs))
	for i, e := range errs {
		texts[i] = e.Error()
	}
	sort.Strings(texts) // the environment has no order that means anything
	return errors.New(strings.Join(texts, "; "))
}

// Names are the names of all variables in the table's order.
func Names() []string {
	names := make([]string, len(table))
	for i, v := range table {
		names[i] = v.Name
	}
	return names
}

func find(name string) *Variable {
	for i := range table {
		if table[i].Name == name {
			return &table[i]
		}
	}
	return nil
}
