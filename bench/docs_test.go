package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakeReport is small, but has something of everything.
func fakeReport() *Report {
	r := &Report{
		Machine:     Machine{Date: time.Unix(0, 0).UTC(), CPU: "some CPU"},
		Repetitions: 2,
		Benchmarks:  []BenchmarkInfo{{Latency, "one-way latency", Microseconds, axisBytes}, {BW, "bandwidth", MBPerSecond, axisBytes}},
		Limits:      []Limit{{Name: LimitPingPong, Unit: Microseconds, Size: 8, Values: []float64{0.1, 0.1}}},
		Figure11:    []Limit{{Name: "memset", Unit: Microseconds, Size: 64, Values: []float64{1}}, {Name: "uncached", Unit: Microseconds, Size: 64, Skipped: "none"}},
		Errors:      []string{"one\nthing"},
	}
	for _, v := range variants {
		r.Variants = append(r.Variants, VariantInfo{Name: v.Name, Title: v.Title, Settings: v.Settings})
	}
	for i, v := range []string{NativeMPICH, Coherent} {
		for rep := range 2 {
			for _, size := range []int64{8, 64 << 10, 1 << 20} {
				r.Samples = append(r.Samples,
					Sample{Latency, v, rep, size, 0.4 - 0.2*float64(i)},
					Sample{Small, v, rep, size, 0.4 - 0.2*float64(i)},
					Sample{BW, v, rep, size, float64(size) * float64(1+i)})
			}
		}
	}
	r.Targets = judge(r, goals)
	return r
}

func TestJudge(t *testing.T) {
	got := map[string]Target{}
	for _, g := range fakeReport().Targets {
		got[g.Text] = g
	}
	for _, tc := range []struct {
		text       string
		known, met bool
		value      float64
	}{
		{"8 B latency, coherent / MPICH", true, true, 0.5},
		{"8 B latency, coherent / bare line ping-pong", true, true, 2},
		{"8 B latency, coherent / Open MPI", false, false, 0},
		{"bandwidth 64 KiB–4 MiB, coherent / MPICH", true, true, 2},
	} {
		g := got[tc.text]
		if g.Known != tc.known || g.Met != tc.met || g.Value != tc.value {
			t.Errorf("%s: %+v", tc.text, g)
		}
	}
}

// TestJudgeWorst: one bad size among several decides.
func TestJudgeWorst(t *testing.T) {
	r := fakeReport()
	for i, s := range r.Samples {
		if s.Benchmark == BW && s.Variant == Coherent && s.Size == 1<<20 {
			r.Samples[i].Value /= 2
		}
	}
	for _, g := range judge(r, goals) {
		if g.Text == "bandwidth 64 KiB–4 MiB, coherent / MPICH" && (g.Met || g.Size != 1<<20 || g.Value != 1) {
			t.Errorf("%+v", g)
		}
	}
}

func TestTables(t *testing.T) {
	var text, markdown bytes.Buffer
	r := fakeReport()
	r.WriteText(&text)
	r.WriteMarkdown(&markdown)
	for _, want := range []string{"some CPU", "64 KiB", "0.200 (0.200–0.200)", "0.50", "met", "not measured", "one"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("text lacks %q:\n%s", want, text.String())
		}
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("markdown lacks %q:\n%s", want, markdown.String())
		}
	}
}

func TestPlots(t *testing.T) {
	paths, err := fakeReport().WritePlots(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) != 4 {
		t.Fatalf("%d files: %v", len(paths), paths)
	}
	for _, p := range paths {
		if st, err := os.Stat(p); err != nil || st.Size() < 1000 {
			t.Errorf("%s: %v, %v", p, st, err)
		}
	}
}

func TestUpdatePage(t *testing.T) {
	page := filepath.Join(t.TempDir(), "p.md")
	const before, after = "# title\n\n", "\nthe end\n"
	for _, tc := range []struct {
		name, text string
		bad        bool
	}{
		{"markers", before + beginMarker + "old\n" + endMarker + after, false},
		{"no markers", before, true},
		{"one marker", before + beginMarker, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := os.WriteFile(page, []byte(tc.text), 0o644); err != nil {
				t.Fatal(err)
			}
			err := fakeReport().UpdatePage(page)
			if (err != nil) != tc.bad {
				t.Fatalf("error %v", err)
			}
			got, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			if tc.bad && string(got) != tc.text {
				t.Errorf("a page without markers was changed: %q", got)
			}
			if !tc.bad && (!strings.HasPrefix(string(got), before+beginMarker+"Machine") ||
				!strings.HasSuffix(string(got), endMarker+after) || strings.Contains(string(got), "old")) {
				t.Errorf("page is now %q", got)
			}
		})
	}
}

func TestParseDemo(t *testing.T) {
	got, err := parseDemo("verified 176 22369616\nlatency 0.262\nbandwidth 8264.7\n")
	if want := (demoResult{176, 22369616, 0.262, 8264.7}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := parseDemo("verified 176 22369616\n"); err == nil {
		t.Error("half an output was accepted")
	}
}

// TestFindOSU lays out a folder as an OSU release has it.
func TestFindOSU(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "mpi", "pt2pt")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(sub, "osu_bw")
	if err := os.WriteFile(want, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := findOSU(dir, "osu_bw"); err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := findOSU(dir, "osu_latency"); err == nil {
		t.Error("found a program that is not there")
	}
}
