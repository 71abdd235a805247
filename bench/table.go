package bench

import (
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// table is text in rows and columns. The first row has the titles.
type table struct {
	title string
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// widths are those of the columns, in characters.
func (t *table) widths() []int {
	w := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			w[i] = max(w[i], utf8.RuneCountInString(cell))
		}
	}
	return w
}

// writeText prints for a terminal: the first column to the left, others to the right.
func (t *table) writeText(w io.Writer) {
	fmt.Fprintf(w, "\n%s\n", t.title)
	widths := t.widths()
	for i, row := range t.rows {
		for c, cell := range row {
			pad := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(cell))
			if c == 0 {
				fmt.Fprint(w, "  ", cell, pad)
			} else {
				fmt.Fprint(w, "  ", pad, cell)
			}
		}
		fmt.Fprintln(w)
		if i == 0 {
			line := 0
			for _, n := range widths {
				line += n + 2
			}
			fmt.Fprintln(w, "  "+strings.Repeat("-", line-2))
		}
	}
}

// writeMarkdown prints a markdown table under a heading.
func (t *table) writeMarkdown(w io.Writer) {
	fmt.Fprintf(w, "\n### %s\n\n", t.title)
	for i, row := range t.rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(w, "| ---%s |\n", strings.Repeat(" | ---:", len(row)-1))
		}
	}
}

// WriteText prints all tables for people, the targets last.
func (r *Report) WriteText(w io.Writer) {
	fmt.Fprintln(w, r.Machine)
	fmt.Fprintln(w, r.how())
	for _, t := range r.tables() {
		t.writeText(w)
	}
	for _, e := range r.failures() {
		fmt.Fprintf(w, "\nfailed: %s\n", e)
	}
}

// WriteMarkdown prints all tables as markdown, the targets last.
func (r *Report) WriteMarkdown(w io.Writer) {
	fmt.Fprintf(w, "Machine: %s.\n\n%s\n", r.Machine, r.how())
	for _, t := range r.tables() {
		t.writeMarkdown(w)
	}
	for _, e := range r.failures() {
		fmt.Fprintf(w, "\nFailed: %s\n", strings.ReplaceAll(e, "\n", " "))
	}
}

// failures are all runs that gave no values.
func (r *Report) failures() []string { return slices.Concat(r.Errors, r.PeerErrors) }

// how says what the figures in the tables are.
func (r *Report) how() string {
	s := fmt.Sprintf("Medians of %d repetitions (smallest–largest), interleaved, one rank per core. “×” is the ratio to %s.", r.Repetitions, r.Variants[0].Title)
	if r.Quick {
		s += " Quick run: too short to be quoted."
	}
	if r.OSU != "" {
		s += " The programs are installed OSU micro-benchmarks."
	}
	return s
}

func (r *Report) tables() []*table {
	var all []*table
	for _, b := range r.Benchmarks {
		if t := r.benchmarkTable(b); t != nil {
			all = append(all, t)
		}
	}
	if r.Hosts {
		return append(all, r.targetTable())
	}
	return append(all, r.limitTable(), r.figure11Table(), r.targetTable())
}

// benchmarkTable has a row per size; sizes that are no power of two, of which
// NetPIPE has many, are only in the JSON file.
func (r *Report) benchmarkTable(b BenchmarkInfo) *table {
	shown := r.variantsOf(b.Name)
	if len(shown) == 0 {
		return nil
	}
	t := &table{title: fmt.Sprintf("%s: %s, %s", b.Name, b.Title, b.Unit)}
	titles := []string{b.Axis}
	for _, v := range shown {
		titles = append(titles, v.Title)
		if v.Settings != nil {
			titles = append(titles, "×")
		}
	}
	t.add(titles...)
	for _, size := range r.sizes(b.Name) {
		if bits.OnesCount64(uint64(size)) > 1 {
			continue
		}
		row := []string{axisText(b.Axis, size)}
		base := r.Stat(b.Name, r.Variants[0].Name, size)
		for _, v := range shown {
			s := r.Stat(b.Name, v.Name, size)
			row = append(row, s.text())
			if v.Settings != nil {
				row = append(row, ratioText(s, base))
			}
		}
		t.add(row...)
	}
	return t
}

func (r *Report) limitTable() *table {
	t := &table{title: "limits: what CPU and memory allow"}
	t.add("limit", "size", "value", "unit")
	for _, l := range r.Limits {
		t.add(l.Name, sizeText(l.Size), statOf(l.Values).text(), string(l.Unit))
	}
	return t
}

// figure11Table has a row per size and a column per method.
func (r *Report) figure11Table() *table {
	t := &table{title: "figure 11: time until data is out of the caches, µs"}
	titles := []string{"size"}
	row := []string{}
	var rows [][]string
	last := int64(-1)
	for _, l := range r.Figure11 {
		if l.Size != last {
			last = l.Size
			row = []string{sizeText(l.Size)}
			rows = append(rows, nil)
		}
		if len(rows) == 1 {
			titles = append(titles, l.Name)
		}
		row = append(row, statOf(l.Values).short())
		rows[len(rows)-1] = row
	}
	t.rows = append([][]string{titles}, rows...)
	return t
}

func (r *Report) targetTable() *table {
	t := &table{title: "targets"}
	t.add("target", "wanted", "measured", "at", "")
	for _, g := range r.Targets {
		measured, at := "–", "–"
		if g.Known {
			measured, at = fmt.Sprintf("%.2f", g.Value), axisText(g.Axis, g.Size)
		}
		t.add(g.Text, g.wanted(), measured, at, g.verdict())
	}
	return t
}

// text is the median with its spread.
func (s Stat) text() string {
	if s.N < 2 {
		return s.short()
	}
	return fmt.Sprintf("%s (%s–%s)", s.short(), number(s.Min), number(s.Max))
}

// short is the median alone.
func (s Stat) short() string {
	if s.N == 0 {
		return "–"
	}
	return number(s.Median)
}

// number has about three digits.
func number(x float64) string {
	switch {
	case x < 10:
		return fmt.Sprintf("%.3f", x)
	case x < 100:
		return fmt.Sprintf("%.1f", x)
	case x < 1e6:
		return fmt.Sprintf("%.0f", x)
	default:
		return fmt.Sprintf("%.2fM", x/1e6)
	}
}

// ratioText is ours divided by theirs.
func ratioText(ours, theirs Stat) string {
	if ours.N == 0 || theirs.N == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", ours.Median/theirs.Median)
}

// axisText is a value of an axis for people.
func axisText(axis string, n int64) string {
	if axis == axisRanks {
		return fmt.Sprintf("%d ranks", n)
	}
	return sizeText(n)
}

// sizeText is a number of bytes for people.
func sizeText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d B", n)
	}
}
