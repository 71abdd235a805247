package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseTable(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		column     int
		want       []point
		bad        bool
	}{
		{"ours", "# one-way latency\n# Size            Latency (us)\n8                        0.176\n16                       0.18\n", 1,
			[]point{{8, 0.176}, {16, 0.18}}, false},
		{"OSU with titles and an extra column", "\n# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 1 ] [ window size: 64 ]\n# Size                  MB/s        Messages/s\n1                       9.27        9265431.50\n", 2,
			[]point{{1, 9265431.5}}, false},
		{"no table", "nothing here\n", 1, nil, true},
		{"no number", "8 fast\n", 1, nil, true},
		{"zero", "8 0.0\n", 1, nil, true},
		{"too few columns", "8 1.0\n", 2, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parseTable(tc.text, tc.column)
			if (err != nil) != tc.bad {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestParseNetPIPE(t *testing.T) {
	got, err := parseNetPIPE("       1 6.260883   0.00000122\n 1048576 16798.684   0.00047623\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Size != 1 || got[1].Size != 1<<20 || int(got[1].Value*100) != 47623 {
		t.Errorf("got %v", got)
	}
}

// TestLines: in a file there is a line now and then, and none for the end.
func TestLines(t *testing.T) {
	var always, seldom strings.Builder
	for _, p := range []func(int, int, string){lines(&always, "bench", 0), lines(&seldom, "bench", time.Hour)} {
		p(1, 2, "bw, MPICH")
		p(2, 2, "")
	}
	if always.String() != "bench: 1 of 2 done, now bw, MPICH\n" || seldom.Len() != 0 {
		t.Errorf("%q and %q", &always, &seldom)
	}
}

func TestStatOf(t *testing.T) {
	for _, tc := range []struct {
		values []float64
		want   Stat
	}{
		{nil, Stat{}},
		{[]float64{3}, Stat{1, 3, 3, 3}},
		{[]float64{5, 1, 2}, Stat{3, 2, 1, 5}},
		{[]float64{4, 1, 2, 100}, Stat{4, 3, 1, 100}},
	} {
		if diff := cmp.Diff(tc.want, statOf(tc.values)); diff != "" {
			t.Errorf("%v (-want +got)\n%s", tc.values, diff)
		}
	}
}

func TestCommand(t *testing.T) {
	got := strings.Join(variants[3].command("/l/libcmpi.so", []string{"CMPI_POOL=/p"}, 1, "prog", "-x"), " ")
	want := "mpiexec.mpich -bind-to core -n 1 env LD_PRELOAD=/l/libcmpi.so CMPI_REQUIRE=1 CMPI_COHERENCE=flush CMPI_POOL=/p prog -x"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got = strings.Join(variants[0].command("/l/libcmpi.so", nil, 1, "prog"), " ")
	if want := "mpiexec.mpich -bind-to core -n 1 env prog"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestHostsCommand(t *testing.T) {
	o := Options{Hosts: &Hosts{Mpiexec: []string{"env", "NET=a", "mpi"}, Before: []string{"/fix.so"},
		Networks: []Network{{Name: SlowEthernet, Title: "slow", Mpiexec: []string{"env", "NET=b", "mpi"}, Iterations: 500}}}}
	vs := o.variants()
	if len(vs) != 2 {
		t.Fatalf("%d variants", len(vs))
	}
	bw := benchmarks[slices.IndexFunc(benchmarks, func(b Benchmark) bool { return b.Name == BW })]
	for _, tc := range []struct {
		v    Variant
		want string
	}{
		{vs[0], "env NET=b mpi -n 2 env prog -m 1:8388608 -i 500 -x 50 -W 16"},
		{vs[1], "env NET=a mpi -n 2 env LD_PRELOAD=/fix.so:/l.so CMPI_REQUIRE=1 CMPI_COHERENCE=flush prog -m 1:8388608 -W 16"},
	} {
		argv := tc.v.command("/l.so", nil, 2, append([]string{"prog"}, o.args(bw, tc.v, o.ranges(bw)[0])...)...)
		if got := strings.Join(argv, " "); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

// TestHostsGoals: ratios are so that more is better, of latencies and of rates.
func TestHostsGoals(t *testing.T) {
	r := &Report{Hosts: true, Samples: []Sample{
		{Latency, SlowEthernet, 0, 8, 50}, {Latency, Flush, 0, 8, 1},
		{BW, SlowEthernet, 0, 1 << 20, 100}, {BW, Flush, 0, 1 << 20, 7100},
	}}
	known := 0
	for _, g := range judge(r, hostsGoals) {
		switch {
		case !g.Known:
			continue
		case g.Size == 8 && (g.Value != 50 || !g.Met), g.Size == 1<<20 && (g.Value != 71 || g.Met):
			t.Errorf("%+v", g)
		}
		known++
	}
	if known != 2 {
		t.Errorf("%d goals known", known)
	}
}

// TestInterrupted: what was measured is kept, and why there is no more.
func TestInterrupted(t *testing.T) {
	r := fakeReport()
	r.Repetitions, r.Errors = 5, nil
	r.interrupted()
	if r.Repetitions != 2 || len(r.Errors) != 1 || !strings.Contains(r.Errors[0], "repetition 2 of 5") {
		t.Errorf("%d repetitions, %q", r.Repetitions, r.Errors)
	}
}
