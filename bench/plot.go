package bench

import (
	"fmt"
	"image/color"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// colours of the variants: distinct for colour-blind eyes too (Okabe and Ito).
var colours = []color.Color{
	color.RGBA{0, 0, 0, 255},
	color.RGBA{230, 159, 0, 255},
	color.RGBA{0, 114, 178, 255},
	color.RGBA{0, 158, 115, 255},
	color.RGBA{213, 94, 0, 255},
}

// plotted are the benchmarks that are drawn: latency and bandwidth of messages,
// and those of one-sided communication that the cMPI paper's figures 5 and 6 show.
var plotted = []string{Latency, BW, PutFlush, GetFlush, PutBW, GetBW}

// WritePlots draws the benchmarks of plotted over the size, each as NAME.svg and
// NAME.png in dir (hosts-NAME between hosts), and returns the paths.
func (r *Report) WritePlots(dir string) ([]string, error) {
	var paths []string
	for _, b := range r.Benchmarks {
		if !slices.Contains(plotted, b.Name) {
			continue
		}
		p, err := r.plot(b)
		if err != nil {
			return paths, fmt.Errorf("plot of %s: %w", b.Name, err)
		}
		if p == nil {
			continue
		}
		for _, kind := range []string{"svg", "png"} {
			path := filepath.Join(dir, r.prefix()+b.Name+"."+kind)
			if err := p.Save(18*vg.Centimeter, 11*vg.Centimeter, path); err != nil {
				return paths, fmt.Errorf("plot of %s: %w", b.Name, err)
			}
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// plot draws one benchmark, a line per variant; nil if there is nothing to draw.
func (r *Report) plot(b BenchmarkInfo) (*plot.Plot, error) {
	shown := r.variantsOf(b.Name)
	sizes := r.sizes(b.Name)
	if len(shown) == 0 {
		return nil, nil
	}
	p := plot.New()
	p.Title.Text = b.Title
	p.X.Label.Text = "message size"
	p.Y.Label.Text = string(b.Unit)
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker = sizeTicks{}
	p.Y.Tick.Marker = decadeTicks{}
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding = vg.Points(2)
	p.Add(plotter.NewGrid())
	for _, v := range shown {
		var xys plotter.XYs
		for _, size := range sizes {
			if s := r.Stat(b.Name, v.Name, size); s.N > 0 && size > 0 {
				xys = append(xys, plotter.XY{X: float64(size), Y: s.Median})
			}
		}
		line, points, err := plotter.NewLinePoints(xys)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(r.Variants, func(w VariantInfo) bool { return w.Name == v.Name })
		line.Color, points.Color = colours[i], colours[i]
		line.Width = vg.Points(1.5)
		points.Shape, points.Radius = draw.CircleGlyph{}, vg.Points(2)
		if v.Settings == nil {
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(2)}
		}
		p.Add(line, points)
		p.Legend.Add(v.Title, line, points)
	}
	return p, nil
}

// prefix tells the files of a measurement between hosts from others.
func (r *Report) prefix() string {
	if r.Hosts {
		return "hosts-"
	}
	return ""
}

// sizeTicks marks powers of four with their size in words.
type sizeTicks struct{}

func (sizeTicks) Ticks(from, to float64) []plot.Tick {
	var ticks []plot.Tick
	for n := int64(1); float64(n) <= to; n *= 4 {
		if float64(n) >= from {
			ticks = append(ticks, plot.Tick{Value: float64(n), Label: strings.TrimSuffix(sizeText(n), "iB")})
		}
	}
	return ticks
}

// decadeTicks marks 1, 2 and 5 times the powers of ten.
type decadeTicks struct{}

func (decadeTicks) Ticks(from, to float64) []plot.Tick {
	var ticks []plot.Tick
	for decade := 1e-3; decade <= to; decade *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if x := m * decade; x >= from && x <= to {
				ticks = append(ticks, plot.Tick{Value: x, Label: fmt.Sprintf("%g", x)})
			}
		}
	}
	return ticks
}
