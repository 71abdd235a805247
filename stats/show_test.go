package stats

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample is a job of n ranks, each of which has sent to those on its right and
// left, rank 0 to all.
func sample(n int) *Job {
	j := &Job{Name: "x", Size: n, Mode: "coherent", Pool: "/pool"}
	for r := range n {
		c := Counters{Rank: r, PID: uint32(100 + r), With: make([]Pair, n)}
		c.With[(r+1)%n].Fast = Traffic{1000, 8000}
		c.With[(r+n-1)%n].Staged = Traffic{2, 2 << 20}
		if r == 0 {
			for k := 2; k < n-1; k++ {
				c.With[k].Eager = Traffic{1, 64}
			}
			c.Own = Rank{Unexpected: 3, Naps: 12345, PoolBytes: 1 << 20}
		}
		j.Ranks = append(j.Ranks, c)
	}
	return j
}

func TestHeat(t *testing.T) {
	for _, tc := range []struct {
		name  string
		job   *Job
		what  int
		width int
		want  string
	}{
		{"bytes", sample(6), 0, 80, `
bytes, from the rank of the row to that of the column
  0         5         
0 ··▒▒░░░░░░██
1 ██··▒▒······
2 ··██··▒▒····
3 ····██··▒▒··
4 ······██··▒▒
5 ▒▒······██··
· none  ░▒▓█ 64 B to 2.0 MiB
`},
		{"two ranks in a cell", sample(6), 1, 8, `
messages, from the rank of the row to that of the column, 2 ranks in a cell
  0         
0 ████░░
2 ░░████
4 ██░░██
· none  ░▒▓█ 2 to 1.0k
`},
		{"nothing", &Job{Size: 2}, 3, 80, `
puts, from the rank of the row to that of the column
  0         
0 ····
1 ····
· none
`},
		{"about the same", &Job{Size: 2, Ranks: []Counters{
			{Rank: 0, With: []Pair{{}, {Puts: Traffic{1, 1000}}}}, {Rank: 1, With: []Pair{{Puts: Traffic{1, 900}}, {Puts: Traffic{1, 300}}}}}}, 3, 80, `
puts, from the rank of the row to that of the column
  0         
0 ··██
1 ██▓▓
· none  ░▒▓█ 300 B to 1000 B
`},
		{"all the same", &Job{Size: 1, Ranks: []Counters{{With: []Pair{{Eager: Traffic{1, 1}}}}}}, 1, 80, `
messages, from the rank of the row to that of the column
  0         
0 ██
· none  ░▒▓█ 1 to 1
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b strings.Builder
			if err := tc.job.Heat(&b, Measures[tc.what], tc.width); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), b.String()); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// TestHeatFits: whatever the number of ranks, the map is no wider than asked for.
func TestHeatFits(t *testing.T) {
	for _, n := range []int{1, 2, 39, 40, 100, 1000} {
		for _, width := range []int{10, 80, 200} {
			var b strings.Builder
			if err := sample(n).Heat(&b, Measures[0], width); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(b.String()), "\n")
			for _, l := range lines[2 : len(lines)-1] {
				if w := len([]rune(l)); w > width {
					t.Fatalf("%d ranks, width %d: a row of %d columns: %q", n, width, w, l)
				}
			}
		}
	}
}

func TestSummary(t *testing.T) {
	j := sample(4)
	j.Ranks[1].With[0].Puts = Traffic{2, 16}
	want := "4 ranks: 4.0k messages, 8.0 MiB (eager 1, fast path 4.0k, staged 8); 3 unexpected; 2 puts, 16 B"
	if got := j.Summary(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestWrite: what is not to be seen is named.
func TestWrite(t *testing.T) {
	j := sample(3)
	j.Name = "x\x1b[2J"
	j.Ranks = j.Ranks[:2]
	j.Ranks[1].Dead = true
	var b strings.Builder
	if err := j.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"job x?[2J: 3 ranks, coherent mode, /pool", "no counters of 1 of the 3 ranks", "rank 1 has died", "12.3k", "1.0 MiB"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1.0k", 12345: "12.3k", 999_949: "999.9k", 999_999: "1.0M",
		math.MaxUint64: "18.4E"} {
		if got := Number(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1<<30 - 1: "1.0 GiB", math.MaxUint64: "16.0 EiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
