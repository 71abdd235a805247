package bench

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Report is all that one run measured. It is what the JSON file holds.
type Report struct {
	Machine     Machine         `json:"machine"`
	Quick       bool            `json:"quick"` // too short to be quoted
	Repetitions int             `json:"repetitions"`
	OSU         string          `json:"osu_dir,omitempty"`
	Hosts       bool            `json:"hosts,omitempty"` // between two hosts
	Benchmarks  []BenchmarkInfo `json:"benchmarks"`
	Variants    []VariantInfo   `json:"variants"`
	Samples     []Sample        `json:"samples"`
	Limits      []Limit         `json:"limits"`
	Figure11    []Limit         `json:"figure11"`
	Targets     []Target        `json:"targets"`
	Errors      []string        `json:"errors"`      // runs that gave no values
	PeerErrors  []string        `json:"peer_errors"` // the same of an MPI library without us, which is no fault of ours
}

// BenchmarkInfo describes a benchmark that was run.
type BenchmarkInfo struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Unit  Unit   `json:"unit"`
	Axis  string `json:"axis"` // what the samples' sizes count: "bytes" or "ranks"
}

// VariantInfo describes a way in which benchmarks were run.
type VariantInfo struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Settings []string `json:"settings,omitempty"`
	Command  string   `json:"command"` // for two ranks
}

// Sample is one value of one repetition.
type Sample struct {
	Benchmark  string  `json:"benchmark"`
	Variant    string  `json:"variant"`
	Repetition int     `json:"repetition"`
	Size       int64   `json:"size"` // bytes, or what the benchmark's axis says
	Value      float64 `json:"value"`
}

// Limit is what memory and CPU allow without any library in between.
type Limit struct {
	Name    string    `json:"name"`
	Unit    Unit      `json:"unit"`
	Size    int64     `json:"size"` // bytes
	Values  []float64 `json:"values,omitempty"`
	Skipped string    `json:"skipped,omitempty"` // why there are no values
}

// Stat sums up the repetitions of one benchmark, variant and size.
func (r *Report) Stat(benchmark, variant string, size int64) Stat {
	var values []float64
	for _, s := range r.Samples {
		if s.Benchmark == benchmark && s.Variant == variant && s.Size == size {
			values = append(values, s.Value)
		}
	}
	return statOf(values)
}

// sizes are the message sizes for which a benchmark has values, ascending.
func (r *Report) sizes(benchmark string) []int64 {
	var sizes []int64
	for _, s := range r.Samples {
		if s.Benchmark == benchmark {
			sizes = append(sizes, s.Size)
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// variantsOf are the variants for which a benchmark has values.
func (r *Report) variantsOf(benchmark string) []VariantInfo {
	var with []VariantInfo
	for _, v := range r.Variants {
		if slices.ContainsFunc(r.Samples, func(s Sample) bool { return s.Benchmark == benchmark && s.Variant == v.Name }) {
			with = append(with, v)
		}
	}
	return with
}

// limit finds a limit by name and size; the zero Stat if it was not measured.
func (r *Report) limit(name string, size int64) Stat {
	for _, l := range r.Limits {
		if l.Name == name && l.Size == size {
			return statOf(l.Values)
		}
	}
	return Stat{}
}

// Save writes bench.json, bench.md and the plots into a folder that is there, and, if
// page is not empty, updates that page and the plots in the img folder beside it.
func (r *Report) Save(dir, page string) error {
	if err := r.WriteJSON(filepath.Join(dir, "bench.json")); err != nil {
		return err
	}
	var markdown strings.Builder
	r.WriteMarkdown(&markdown)
	if err := os.WriteFile(filepath.Join(dir, "bench.md"), []byte(markdown.String()), 0o644); err != nil {
		return err
	}
	if _, err := r.WritePlots(dir); err != nil {
		return err
	}
	if page == "" {
		return nil
	}
	images := filepath.Join(filepath.Dir(page), "img")
	if err := os.MkdirAll(images, 0o755); err != nil {
		return err
	}
	if _, err := r.WritePlots(images); err != nil {
		return err
	}
	return r.UpdatePage(page)
}

// Print prints the report: tables, or JSON for programs.
func (r *Report) Print(w io.Writer, asJSON bool) error {
	if !asJSON {
		r.WriteText(w)
		return nil
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(r)
}

// WriteJSON writes the report, every repetition included, to a file.
func (r *Report) WriteJSON(path string) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
