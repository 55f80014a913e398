package main

import (
	"flag"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/examples/internal/picture"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/scaling"
	"github.com/pkg/errors"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// resamples is the number of resamples from which the intervals of a law follow.
const resamples = 1000

// scaleFlags adds the flags of the command scale.
func (o *options) scaleFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.scale, "sizes", "32x1,32x2,64x2,96x3,128x4",
		"widths and depths of the models; the largest is left out of the fit and predicted")
	fs.StringVar(&o.scaleIters, "scale_iters", "125,250,500,1000", "the numbers of steps of each size")
}

// sizes sets an arm for every size of -sizes, a list such as 32x1,64x2 of widths and depths, with every number of steps
// of -scale_iters.
func (o *options) sizes() error {
	steps, err := numbers("scale_iters", o.scaleIters)
	if err != nil {
		return err
	}
	for i, size := range words(o.scale) {
		var width, depth int
		if n, err := fmt.Sscanf(size+" ", "%dx%d ", &width, &depth); n != 2 || err != nil || width < 1 || depth < 1 {
			return errors.Errorf("-sizes: element %d: got %q, want WIDTHxDEPTH such as 64x2", i+1, size)
		}
		for _, n := range steps {
			o.variants = append(o.variants, lab.Arm{Name: fmt.Sprintf("%s, %d steps", size, n), Set: []string{
				fmt.Sprintf("n_embd=%d", width), fmt.Sprintf("n_layer=%d", depth), fmt.Sprintf("max_iters=%d", n),
				fmt.Sprintf("lr_decay_iters=%d", n), fmt.Sprintf("warmup_iters=%d", min(o.base.WarmupIters, n/10)),
			}})
		}
	}
	if n := len(o.variants); n < 6 {
		return errors.Errorf("-sizes: got %d sizes × steps, want at least 6: %s", n, o.scale)
	}
	return nil
}

// law is the fit of L(N, D) = E + A·N^−α + B·D^−β to all models but the largest.
type law struct {
	E         bound       `json:"e"`
	A         bound       `json:"a"`
	B         bound       `json:"b"`
	Alpha     bound       `json:"alpha"`
	Beta      bound       `json:"beta"`
	Predicted []predicted `json:"predicted"` // the trials of the largest model
	Trouble   string      `json:"trouble,omitempty"`
	points    []scaling.Point
	fit       scaling.Law
}

// bound is a number with its 95 % interval.
type bound struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// predicted compares a loss with the interval that the law predicts for it.
type predicted struct {
	Arm    string  `json:"arm"`
	Tokens float64 `json:"tokens"`
	Loss   float64 `json:"loss"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Inside bool    `json:"inside"`
}

// fitted fits a law to the rows of a table. A point is the mean loss of a row.
func fitted(t table, seed uint64) *law {
	l, largest := &law{}, int64(0)
	for _, r := range t.Rows {
		largest = max(largest, r.Parameters)
	}
	for _, r := range t.Rows {
		if r.Parameters < largest && r.Seeds > 0 {
			l.points = append(l.points, scaling.Point{N: float64(r.Parameters), D: r.Tokens, Loss: r.Loss})
		}
	}
	e, err := scaling.Bootstrap(l.points, resamples, seed)
	if err != nil {
		l.Trouble = err.Error()
		return l
	}
	l.fit = e.Law
	i := e.Intervals
	for _, b := range []struct {
		to    *bound
		value float64
		of    scaling.Interval
	}{{&l.E, e.E, i.E}, {&l.A, e.A, i.A}, {&l.B, e.B, i.B}, {&l.Alpha, e.Alpha, i.Alpha}, {&l.Beta, e.Beta, i.Beta}} {
		*b.to = bound{b.value, b.of.Low, b.of.High}
	}
	for _, r := range t.Rows {
		if r.Parameters < largest || r.Seeds == 0 {
			continue
		}
		in, err := e.Predict(float64(r.Parameters), r.Tokens)
		if err != nil {
			l.Trouble = err.Error()
			return l
		}
		l.Predicted = append(l.Predicted, predicted{r.Arm, r.Tokens, r.Loss, in.Low, in.High, in.Contains(r.Loss)})
	}
	return l
}

// lines returns the law in words.
func (l *law) lines() (list []string) {
	if l.Trouble != "" {
		return []string{"no law of scaling: " + l.Trouble}
	}
	in := func(b bound) string { return fmt.Sprintf("%.3g (%.3g to %.3g)", b.Value, b.Low, b.High) }
	list = append(list, fmt.Sprintf("law of scaling: loss = E + A/N^α + B/D^β for N parameters and D tokens, fitted "+
		"to %d points without the largest model, with 95 %% intervals: E %s, A %s, α %s, B %s, β %s",
		len(l.points), in(l.E), in(l.A), in(l.Alpha), in(l.B), in(l.Beta)))
	for _, p := range l.Predicted {
		verdict := "inside"
		if !p.Inside {
			verdict = "outside"
		}
		list = append(list, fmt.Sprintf("the largest model, %s: loss %.4f, predicted %.4f to %.4f: %s", p.Arm, p.Loss,
			p.Low, p.High, verdict))
	}
	return list
}

// draw draws the losses against the tokens in logarithms, with a line of the law for each size, and the losses of the
// largest model with their predicted intervals.
func (l *law) draw(w io.Writer) error {
	p := picture.New("tokens", "validation loss, nats per token")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	picture.Grid(p)
	var sizes []float64
	for _, at := range l.points {
		if !slices.Contains(sizes, at.N) {
			sizes = append(sizes, at.N)
		}
	}
	for i, n := range sizes {
		var seen, curve plotter.XYs
		low, high := math.Inf(1), 0.0
		for _, at := range l.points {
			low, high = min(low, at.D), max(high, at.D)
			if at.N == n {
				seen = append(seen, plotter.XY{X: at.D, Y: at.Loss})
			}
		}
		for s := range 33 {
			d := low * math.Pow(high/low, float64(s)/32)
			curve = append(curve, plotter.XY{X: d, Y: l.fit.At(n, d)})
		}
		dots, err := plotter.NewScatter(seen)
		if err != nil {
			return err
		}
		line, err := plotter.NewLine(curve)
		if err != nil {
			return err
		}
		c := palette()[i%mostCurves]
		line.Color, line.Width = c, vg.Points(1.4)
		dots.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}
		p.Add(line, dots)
		p.Legend.Add(program.Thousands(int64(n))+" parameters", line, dots)
	}
	var seen, middle plotter.XYs
	var intervals plotter.YErrors
	for _, at := range l.Predicted {
		seen = append(seen, plotter.XY{X: at.Tokens, Y: at.Loss})
		middle = append(middle, plotter.XY{X: at.Tokens, Y: (at.Low + at.High) / 2})
		intervals = append(intervals, struct{ Low, High float64 }{(at.Low - at.High) / 2, (at.High - at.Low) / 2})
	}
	bars, err := plotter.NewYErrorBars(struct {
		plotter.XYs
		plotter.YErrors
	}{middle, intervals})
	if err != nil {
		return err
	}
	dots, err := plotter.NewScatter(seen)
	if err != nil {
		return err
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: color.Black, Radius: vg.Points(3), Shape: draw.RingGlyph{}}
	p.Add(bars, dots)
	p.Legend.Add("the largest, and its prediction", dots)
	return picture.WriteBeside(w, 20*vg.Centimeter, 12*vg.Centimeter, p)
}
