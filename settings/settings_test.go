package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	with := func(change func(*Settings)) Settings {
		s := Defaults()
		change(&s)
		return s
	}
	tests := []struct {
		name    string
		environ []string
		want    Settings
	}{
		{"empty", nil, Defaults()},
		{"others are left alone", []string{"PATH=/bin", "XCMPI_POOL=1", "CMPIX=2"}, Defaults()},
		{"empty value is the default", []string{"CMPI_POOL_SIZE=", "CMPI_COHERENCE="}, Defaults()},
		{"switches", []string{"CMPI_DISABLE=1", "CMPI_REQUIRE=1", "CMPI_VERBOSE=1", "CMPI_NO_VECTOR=1"},
			with(func(s *Settings) { s.Disable, s.Require, s.Verbose, s.NoVector = true, true, true, true })},
		{"pool", []string{"CMPI_POOL=/dev/dax0.0", "CMPI_POOL_SIZE=64M"},
			with(func(s *Settings) { s.Pool, s.PoolSize = "/dev/dax0.0", 64<<20 })},
		{"value with an equals sign", []string{"CMPI_POOL=/tmp/a=b"},
			with(func(s *Settings) { s.Pool = "/tmp/a=b" })},
		{"hosts", []string{"CMPI_SHARED=pool", "CMPI_DEAD_AFTER=1m"},
			with(func(s *Settings) { s.SharedPool, s.DeadAfter = true, time.Minute })},
		{"emulation", []string{"CMPI_COHERENCE=emulate", "CMPI_SEED=0x10", "CMPI_CHAOS=0"},
			with(func(s *Settings) { s.Coherence, s.Seed, s.Chaos = CoherenceEmulate, 16, 0 })},
		{"protocol", []string{"CMPI_RING=paper", "CMPI_RING_LINES=64", "CMPI_SEQ_BITS=8", "CMPI_EAGER_LIMIT=4k", "CMPI_SINGLE_COPY=off"},
			with(func(s *Settings) {
				s.Ring, s.RingLines, s.SeqBits, s.EagerLimit, s.SingleCopy = RingPaper, 64, 8, 4096, false
			})},
		{"C interface", []string{"CMPI_RANK=3", "CMPI_SIZE=4", "CMPI_JOB=j", "CMPI_HOST=h"},
			with(func(s *Settings) { s.Rank, s.Size, s.Job, s.Host = 3, 4, "j", "h" })},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Parse(tc.environ)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		environ []string
		want    string // part of the message
	}{
		{[]string{"CMPI_POL=/x"}, "unknown setting CMPI_POL (did you mean CMPI_POOL?)"},
		{[]string{"CMPI_POOLSIZE=1G"}, "did you mean CMPI_POOL_SIZE?"},
		{[]string{"CMPI_COHERENCE=flsh"}, "did you mean flush?"},
		{[]string{"CMPI_REQUIRE=yes"}, "CMPI_REQUIRE=yes: write 0 or 1"},
		{[]string{"CMPI_POOL_SIZE=lots"}, "write a number of bytes"},
		{[]string{"CMPI_POOL_SIZE=64"}, "at least 1048576 bytes"},
		{[]string{"CMPI_POOL_SIZE=99999999T"}, "write a number of bytes"},
		{[]string{"CMPI_POOL_SIZE=G"}, "write a number of bytes"},
		{[]string{"CMPI_CHAOS=101"}, "between 0 and 100"},
		{[]string{"CMPI_SEED=x"}, "not a number"},
		{[]string{"CMPI_RANK=-1"}, "between 0 and"},
		{[]string{"CMPI_RANK=4", "CMPI_SIZE=4"}, "CMPI_RANK=4 is not below CMPI_SIZE=4"},
		{[]string{"CMPI_Z=1", "CMPI_CHAOS=x"}, "; "},
	}
	for _, tc := range tests {
		_, err := Parse(tc.environ)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Parse(%q): %v, want %q", tc.environ, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("Parse(%q): more than one line", tc.environ)
		}
	}
}

// Each row is complete, and its default is one that its own parser takes.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range Table() {
		if seen[v.Name] || !strings.HasPrefix(v.Name, Prefix) || v.Values == "" || v.Meaning == "" {
			t.Errorf("row %+v", v)
		}
		seen[v.Name] = true
	}
	if d := Defaults(); d.PoolSize != DefaultPoolSize || d.Coherence != CoherenceAuto || !d.SingleCopy || d.Ring != RingLine {
		t.Errorf("defaults %+v", d)
	}
}

func TestNearest(t *testing.T) {
	tests := []struct {
		name string
		want string
	}{
		{"CMPI_PULL", "CMPI_POOL"}, {"CMPI_SED", "CMPI_SEED"}, {"CMPI_", "CMPI_JOB"}, {"CMPI_VERBOSITY", "CMPI_VERBOSE"},
	}
	for _, tc := range tests {
		if got := Nearest(tc.name, Names()); got != tc.want {
			t.Errorf("Nearest(%s) = %s, want %s", tc.name, got, tc.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("CMPI_POOL_SIZE=1G")
	f.Add("CMPI_X")
	f.Fuzz(func(t *testing.T, kv string) {
		if _, err := Parse([]string{kv}); err != nil && err.Error() == "" {
			t.Error("an error that says nothing")
		}
	})
}
