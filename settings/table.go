package settings

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Variable describes one environment variable.
type Variable struct {
	Name    string
	Default string // as one would write it; "" = none
	Values  string // what may be written, for people
	Meaning string // one sentence or two
	parse   func(*Settings, string) error
}

// Table lists all variables in the order in which they are best explained.
func Table() []Variable { return append([]Variable(nil), table...) }

var table = []Variable{
	{"CMPI_DISABLE", "0", "0 or 1", "1: the library does nothing; the program runs on its MPI alone.",
		boolean(func(s *Settings) *bool { return &s.Disable })},
	{"CMPI_REQUIRE", "0", "0 or 1", "1: stop the job when the pool can't be used, instead of running on the host MPI alone.",
		boolean(func(s *Settings) *bool { return &s.Require })},
	{"CMPI_VERBOSE", "0", "0 or 1", "1: rank 0 says in one line at start which pool and mode are used.",
		boolean(func(s *Settings) *bool { return &s.Verbose })},
	{"CMPI_STATS", "0", "0 or 1", "1: count messages, bytes and waits, for cmpi stats and cmpi top to show while the job runs; rank 0 says the sum in one line at the end.",
		boolean(func(s *Settings) *bool { return &s.Stats })},

	{"CMPI_POOL", "", "path", "The pool: a devdax device (/dev/dax0.0) or a file that all ranks can map. Default: a file in /dev/shm for this job alone.",
		func(s *Settings, v string) error { s.Pool = v; return nil }},
	{"CMPI_POOL_SIZE", "1G", "bytes, K, M, G or T", "Size of a pool file that has to be made. Memory is taken only for what is used of it.",
		func(s *Settings, v string) (err error) {
			s.PoolSize, err = size(v, MinPoolSize)
			return err
		}},
	{"CMPI_COHERENCE", "auto", "auto, coherent, flush, uncached or emulate", "How a write reaches the other hosts. auto: coherent when all ranks run on one kernel, else flush.",
		func(s *Settings, v string) (err error) {
			s.Coherence, err = oneOf(v, CoherenceAuto, CoherenceCoherent, CoherenceFlush, CoherenceUncached, CoherenceEmulate)
			return err
		}},
	{"CMPI_HOST", "", "name", "Name of this coherence domain, the same for all ranks inside it. Default: the kernel's boot id.",
		func(s *Settings, v string) error { s.Host = v; return nil }},
	{"CMPI_SHARED", "host", "host or pool", "What MPI_Comm_split_type(MPI_COMM_TYPE_SHARED) takes for shared memory: host: as the MPI library does, the memory of one machine; pool: the pool, so that all ranks of the job are together.",
		func(s *Settings, v string) error {
			w, err := oneOf(v, "host", "pool")
			s.SharedPool = w == "pool"
			return err
		}},
	{"CMPI_NO_VECTOR", "0", "0 or 1", "1: no vector instructions on the pool (some emulated devices fault on them).",
		boolean(func(s *Settings) *bool { return &s.NoVector })},

	{"CMPI_DEAD_AFTER", "8s", "time, 0 = never", "How long a rank gives no sign of life in the pool before the others end the job: its host is down or cut off.",
		func(s *Settings, v string) (err error) {
			if s.DeadAfter, err = time.ParseDuration(v); err != nil {
				return errors.New("write a time such as 10s, or 0")
			}
			if s.DeadAfter != 0 && (s.DeadAfter < MinDeadAfter || s.DeadAfter > MaxDeadAfter) {
				return fmt.Errorf("must be 0 or between %v and %v", MinDeadAfter, MaxDeadAfter)
			}
			return nil
		}},
	{"CMPI_SINGLE_COPY", "auto", "auto or off", "off: large messages always go through the pool, even where the kernel could copy them from process to process.",
		func(s *Settings, v string) error {
			w, err := oneOf(v, "auto", "off")
			s.SingleCopy = w == "auto"
			return err
		}},
	{"CMPI_SINGLE_COPY_MIN", "", "bytes, K or M", "Shortest message that the kernel copies from process to process. Default: measured, see the performance page.",
		func(s *Settings, v string) (err error) {
			s.SingleCopyMin, err = size(v, 1)
			return err
		}},
	{"CMPI_STAGE_LIMIT", "64M", "bytes, K or M", "Pool memory in which one rank stages long messages that their receivers have not taken yet.",
		func(s *Settings, v string) (err error) {
			s.StageLimit, err = size(v, 1)
			return err
		}},
	{"CMPI_EAGER_LIMIT", "", "bytes, K or M", "Longest message that is sent inside the ring. Default: measured, see the performance page.",
		func(s *Settings, v string) (err error) {
			s.EagerLimit, err = size(v, 1)
			return err
		}},
	{"CMPI_RING_LINES", "", "number", "Lines of 64 bytes in the ring of a pair of ranks.",
		func(s *Settings, v string) (err error) {
			s.RingLines, err = number(v, 8, 1<<24)
			if err == nil && s.RingLines&(s.RingLines-1) != 0 {
				err = errors.New("not a power of two")
			}
			return err
		}},
	{"CMPI_SEQ_BITS", "", "number", "Bits of a line's sequence number; small values make it wrap around soon, for tests.",
		func(s *Settings, v string) (err error) {
			s.SeqBits, err = number(v, 4, 40)
			return err
		}},
	{"CMPI_RING", RingLine, "line or paper", "line: a flag in every line. paper: cells with head and tail as in the cMPI paper, for comparison.",
		func(s *Settings, v string) (err error) {
			s.Ring, err = oneOf(v, RingLine, RingPaper)
			return err
		}},

	{"CMPI_FAST", "1", "0 or 1", "0: small messages take the long way through the engine, to see what the short one buys.",
		boolean(func(s *Settings) *bool { return &s.Fast })},

	{"CMPI_SEED", "", "number", "Seed of the adversary of emulate mode. Default: a new one each time.",
		func(s *Settings, v string) (err error) {
			if s.Seed, err = strconv.ParseUint(v, 0, 64); err != nil {
				err = errors.New("not a number")
			}
			return err
		}},
	{"CMPI_CHAOS", "", "0 to 100", "How often the adversary of emulate mode acts, percent.",
		func(s *Settings, v string) (err error) {
			s.Chaos, err = number(v, 0, 100)
			return err
		}},

	{"CMPI_RANK", "", "number", "C interface only (cmpi_init): this process's rank.",
		func(s *Settings, v string) (err error) {
			s.Rank, err = number(v, 0, math.MaxInt32)
			return err
		}},
	{"CMPI_SIZE", "", "number", "C interface only (cmpi_init): number of ranks.",
		func(s *Settings, v string) (err error) {
			s.Size, err = number(v, 1, math.MaxInt32)
			return err
		}},
	{"CMPI_JOB", "", "name", "C interface only (cmpi_init): name of the job, the same on all its ranks and no other's.",
		func(s *Settings, v string) error { s.Job = v; return nil }},
}

func boolean(field func(*Settings) *bool) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		switch v {
		case "0":
			*field(s) = false
		case "1":
			*field(s) = true
		default:
			return errors.New("write 0 or 1")
		}
		return nil
	}
}

func oneOf[T ~string](v string, allowed ...T) (T, error) {
	names := make([]string, len(allowed))
	for i, a := range allowed {
		if v == string(a) {
			return a, nil
		}
		names[i] = string(a)
	}
	return "", fmt.Errorf("write one of %s (did you mean %s?)", strings.Join(names, ", "), Nearest(v, names))
}

func number(v string, lo, hi int) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil {
		return 0, errors.New("not a number")
	}
	if n < lo || n > hi {
		return 0, fmt.Errorf("must be between %d and %d", lo, hi)
	}
	return n, nil
}

// Bytes reads a size as it is written in settings: a number of bytes with an
// optional binary unit, as 64M; at least lo.
func Bytes(v string, lo int64) (int64, error) { return size(v, lo) }

// size reads a number of bytes with an optional binary unit, as 64M.
func size(v string, lo int64) (int64, error) {
	shift := 0
	digits := v
	if i := strings.IndexAny(v, "kKmMgGtT"); i == len(v)-1 && i > 0 {
		shift = map[byte]int{'k': 10, 'm': 20, 'g': 30, 't': 40}[v[i]|0x20]
		digits = v[:i]
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, errors.New("write a number of bytes, as 67108864 or 64M")
	}
	if n <<= shift; n < lo {
		return 0, fmt.Errorf("must be at least %d bytes", lo)
	}
	return n, nil
}
