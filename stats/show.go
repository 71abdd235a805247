package stats

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"unicode"
)

// Summary is the job's counters in one line.
func (j *Job) Summary() string {
	t := j.Total()
	sent := t.With.Sent()
	var parts []string
	for _, p := range protocols {
		if n := p.of(&t.With); n.Count > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", p.name, Number(n.Count)))
		}
	}
	how := ""
	if len(parts) > 0 {
		how = " (" + strings.Join(parts, ", ") + ")"
	}
	s := fmt.Sprintf("%d ranks: %s messages, %s%s; %s unexpected", j.Size, Number(sent.Count), Bytes(sent.Bytes), how, Number(t.Own.Unexpected))
	for _, o := range operations {
		if n := o.of(&t.With); n.Count > 0 {
			s += fmt.Sprintf("; %s %s, %s", Number(n.Count), o.name, Bytes(n.Bytes))
		}
	}
	return s
}

// column is a kind of traffic and what it is called.
type column struct {
	name string
	of   func(*Pair) Traffic
}

// protocols are the ways of a message.
var protocols = []column{
	{"eager", func(p *Pair) Traffic { return p.Eager }},
	{"fast path", func(p *Pair) Traffic { return p.Fast }},
	{"staged", func(p *Pair) Traffic { return p.Staged }},
	{"single copy", func(p *Pair) Traffic { return p.Single }},
	{"streamed", func(p *Pair) Traffic { return p.Streamed }},
}

// operations are those on windows.
var operations = []column{
	{"puts", func(p *Pair) Traffic { return p.Puts }},
	{"gets", func(p *Pair) Traffic { return p.Gets }},
	{"updates", func(p *Pair) Traffic { return p.Updates }},
}

// Write shows the counters as tables, all ranks together.
func (j *Job) Write(w io.Writer) error {
	t := j.Total()
	fmt.Fprintf(w, "job %s: %d ranks, %s mode, %s\n", printable(j.Name), j.Size, j.Mode, j.Pool)
	j.complain(w)
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "\nmessages\tcount\tbytes\t\n")
	row := func(name string, n Traffic) { fmt.Fprintf(tw, "%s\t%s\t%s\t\n", name, Number(n.Count), Bytes(n.Bytes)) }
	for _, p := range protocols {
		row(p.name, p.of(&t.With))
	}
	row("sent", t.With.Sent())
	row("received", t.With.Received)
	fmt.Fprintf(tw, "unexpected\t%s\t\t\n", Number(t.Own.Unexpected))
	fmt.Fprintf(tw, "\noperations\tcount\tbytes\t\n")
	for _, o := range operations {
		row(o.name, o.of(&t.With))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	tw = tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "\nrank\tprocess\tsent\tunexpected\tpauses\tyields\tnaps\tpool\tlines out\tlines dropped\t\n")
	for i := range j.Ranks {
		c := &j.Ranks[i]
		var sent Traffic
		for k := range c.With {
			sent.add(c.With[k].Sent())
		}
		fmt.Fprintf(tw, "%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", c.Rank, c.PID, Number(sent.Count), Number(c.Own.Unexpected),
			Number(c.Own.Spins), Number(c.Own.Yields), Number(c.Own.Naps), Bytes(c.Own.PoolBytes),
			Number(c.Own.Lines.Published), Number(c.Own.Lines.Invalidated))
	}
	return tw.Flush()
}

// printable is a name that was read from a pool, without what a terminal would act
// on.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
}

// complain names what is not to be seen.
func (j *Job) complain(w io.Writer) {
	if n := j.Size - len(j.Ranks); n > 0 {
		fmt.Fprintf(w, "no counters of %d of the %d ranks\n", n, j.Size)
	}
	for i := range j.Ranks {
		if j.Ranks[i].Dead {
			fmt.Fprintf(w, "rank %d has died\n", j.Ranks[i].Rank)
		}
	}
}

// Measure is what a heat map shows of a pair.
type Measure struct {
	Name string
	of   func(*Pair) uint64
	show func(uint64) string
}

// Measures are all there are; the first is shown unless another is asked for.
var Measures = []Measure{
	{"bytes", func(p *Pair) uint64 { return p.Sent().Bytes }, Bytes},
	{"messages", func(p *Pair) uint64 { return p.Sent().Count }, Number},
	{"received", func(p *Pair) uint64 { return p.Received.Count }, Number},
	{"puts", func(p *Pair) uint64 { return p.Puts.Bytes }, Bytes},
	{"gets", func(p *Pair) uint64 { return p.Gets.Bytes }, Bytes},
	{"updates", func(p *Pair) uint64 { return p.Updates.Count }, Number},
}

// Matrix is the measure for each pair: row the rank that counted, column the
// other. Rows of ranks that are not known are zero.
func (j *Job) Matrix(m Measure) [][]uint64 {
	rows := make([][]uint64, j.Size)
	for i := range rows {
		rows[i] = make([]uint64, j.Size)
	}
	for i := range j.Ranks {
		for k := range j.Ranks[i].With {
			rows[j.Ranks[i].Rank][k] = m.of(&j.Ranks[i].With[k])
		}
	}
	return rows
}

// shades are from little to much; zero is a dot.
var shades = []rune("░▒▓█")

const nothing = '·'

// leastSpan is how far apart the ends of the scale are at least, as a power of
// two: pairs that have done about the same look the same.
const leastSpan = 4

// Heat draws a map of the measure, which rank with which, at most width columns
// wide: with few ranks each is two columns, with many several share a cell,
// which then shows their sum. Each shade is a quarter of the way from the least
// to the most, on a logarithmic scale, and at least a factor of two.
func (j *Job) Heat(w io.Writer, m Measure, width int) error {
	rows := j.Matrix(m)
	labels := len(fmt.Sprint(j.Size-1)) + 1
	each := 1 // ranks in a cell
	for (j.Size+each-1)/each*2 > max(width-labels, 2) {
		each++
	}
	cells := sumUp(rows, each)
	least, most := bounds(cells)
	fmt.Fprintf(w, "%s, from the rank of the row to that of the column", m.Name)
	if each > 1 {
		fmt.Fprintf(w, ", %d ranks in a cell", each)
	}
	fmt.Fprintf(w, "\n%*s", labels, "")
	for c := range cells {
		if c%5 == 0 {
			fmt.Fprintf(w, "%-10d", c*each)
		}
	}
	fmt.Fprintln(w)
	for r, row := range cells {
		line := []rune(fmt.Sprintf("%-*d", labels, r*each))
		for _, v := range row {
			s := shade(v, least, most)
			line = append(line, s, s)
		}
		fmt.Fprintln(w, string(line))
	}
	if most == 0 {
		_, err := fmt.Fprintf(w, "%c none\n", nothing)
		return err
	}
	_, err := fmt.Fprintf(w, "%c none  %s %s to %s\n", nothing, string(shades), m.show(least), m.show(most))
	return err
}

// sumUp adds squares of each by each into one.
func sumUp(rows [][]uint64, each int) [][]uint64 {
	n := (len(rows) + each - 1) / each
	out := make([][]uint64, n)
	for i := range out {
		out[i] = make([]uint64, n)
	}
	for r, row := range rows {
		for c, v := range row {
			out[r/each][c/each] += v
		}
	}
	return out
}

// bounds gives the least that isn't zero, and the most.
func bounds(cells [][]uint64) (least, most uint64) {
	least = math.MaxUint64
	for _, row := range cells {
		for _, v := range row {
			if v > 0 {
				least, most = min(least, v), max(most, v)
			}
		}
	}
	return least, most
}

func shade(v, least, most uint64) rune {
	switch {
	case v == 0:
		return nothing
	case least == most:
		return shades[len(shades)-1]
	}
	span := max(math.Log2(float64(most)/float64(least)), leastSpan)
	part := 1 - math.Log2(float64(most)/float64(v))/span
	return shades[min(int(part*float64(len(shades))), len(shades)-1)]
}

// Number writes a count in at most five columns or so: 12345 as 12.3k.
func Number(n uint64) string { return scaled(n, 1000, []string{"", "k", "M", "G", "T", "P", "E"}) }

// Bytes writes a number of bytes with its unit, 1024 being a step.
func Bytes(n uint64) string {
	return scaled(n, 1024, []string{" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"})
}

func scaled(n, step uint64, units []string) string {
	if n < step {
		return fmt.Sprintf("%d%s", n, units[0])
	}
	x, i := float64(n), 0
	// What would be rounded up to a step is the next unit already.
	for ; x >= float64(step)-0.05 && i < len(units)-1; i++ {
		x /= float64(step)
	}
	return fmt.Sprintf("%.1f%s", x, units[i])
}
