package main

import (
	"cmp"
	"flag"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/picture"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pkg/errors"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// transfer holds the losses of -widths. At the width of the base model of muP both parametrizations are the same, so
// that it comes once, as standard.
type transfer []*sweep

// sweep is a width under a parametrization, with every rate.
type sweep struct {
	Width           int        `json:"width"`
	Parametrization string     `json:"parametrization"`
	Base            bool       `json:"base,omitempty"` // whether it is the base model of muP
	Rates           []float64  `json:"rates"`
	Losses          []float64  `json:"losses"` // 0 where every seed diverged
	Best            int        `json:"best"`   // index of the lowest loss
	moved           [2]float64 // the coordinates at the best rate of the narrowest model; 0 if not measured
}

// sweeps returns the sweeps of -widths and -rates without their losses.
func (o *options) sweeps() (all transfer, err error) {
	var rates []float64
	for i, w := range words(o.rates) {
		rate, err := strconv.ParseFloat(w, 64)
		if err != nil || !(rate > 0) || math.IsInf(rate, 0) {
			return nil, errors.Errorf("-rates: element %d: got %q, want a number above 0", i+1, w)
		}
		rates = append(rates, rate)
	}
	slices.Sort(rates)
	widths, err := numbers("widths", o.widths)
	if err != nil {
		return nil, err
	}
	if rates = slices.Compact(rates); len(widths) < 2 || len(rates) < 1 {
		return nil, errors.Errorf("-widths: got %d widths and %d rates, want at least 2 and 1", len(widths), len(rates))
	}
	base := cmp.Or(o.baseWidth, widths[0])
	for _, name := range []string{"standard", "mup"} {
		for _, width := range widths {
			if name == "standard" || width != base {
				all = append(all, &sweep{Width: width, Parametrization: name, Base: width == base, Rates: rates})
			}
		}
	}
	return all, nil
}

// transferFlags adds the flags of the command transfer.
func (o *options) transferFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.widths, "widths", "32,64,128", "find the best of -rates for models of these widths, with and "+
		"without "+
		"muP, whose base is -base_width or the narrowest")
	fs.StringVar(&o.rates, "rates", "1e-3,2e-3,4e-3,8e-3,1.6e-2", "the learning rates")
}

// rated sets an arm for each rate of each sweep. The lowest rate of the schedule stays in proportion to the highest.
func (o *options) rated() error {
	all, err := o.sweeps()
	if err != nil {
		return err
	}
	for _, s := range all {
		for _, rate := range s.Rates {
			set := []string{fmt.Sprintf("n_embd=%d", s.Width), fmt.Sprintf("learning_rate=%v", rate),
				fmt.Sprintf("min_lr=%v", o.base.MinLR*rate/o.base.LearningRate)}
			if s.Parametrization == "mup" {
				base := cmp.Or(o.baseWidth, all[0].Width)
				set = append(set, "parametrization=mup", fmt.Sprintf("base_width=%d", base))
			}
			name := fmt.Sprintf("%s, width %d, rate %v", s.Parametrization, s.Width, rate)
			a := lab.Arm{Name: name, Set: set}
			if err := o.possible(a); err != nil {
				return errors.WithMessagef(err, "-widths: %s", a.Name)
			}
			o.variants = append(o.variants, a)
		}
	}
	return nil
}

// transfer returns the sweeps with the losses of the rows, which are in the order of the arms.
func (o *options) transfer(rows []row) transfer {
	all, _ := o.sweeps() // checked by rated
	for _, s := range all {
		lowest, of := math.Inf(1), rows[:len(s.Rates)]
		rows = rows[len(s.Rates):]
		for i, r := range of {
			if s.Losses = append(s.Losses, r.Loss); r.Seeds > 0 && r.Loss < lowest {
				lowest, s.Best = r.Loss, i
			}
		}
		for k, name := range coordinateNames() {
			s.moved[k] = of[all[0].Best].Measures[name]
		}
	}
	return all
}

// of returns the sweeps of a parametrization, by width.
func (t transfer) of(name string) (list transfer) {
	for _, s := range t {
		if s.Base || s.Parametrization == name {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *sweep) int { return cmp.Compare(a.Width, b.Width) })
	return list
}

// lines returns the best rate of every width in words, and the powers of the width by which the coordinates grow.
func (t transfer) lines() (lines []string) {
	if len(t) == 0 {
		return nil
	}
	for _, name := range []string{"standard", "mup"} {
		var list []string
		low, high := math.MaxInt, 0
		for _, s := range t.of(name) {
			low, high = min(low, s.Best), max(high, s.Best)
			at := fmt.Sprintf("%v for width %d (loss %.4f", s.Rates[s.Best], s.Width, s.Losses[s.Best])
			if n := len(s.Rates); n > 1 && (s.Best == 0 || s.Best == n-1) {
				at += ", at the edge of the rates"
			}
			list = append(list, at+")")
		}
		lines = append(lines, fmt.Sprintf("best learning rate, %s: %s; it moves by %d of %d rates", name,
			strings.Join(list, ", "), high-low, len(t[0].Rates)))
	}
	return append(lines, t.powers()...)
}

// powers returns the powers of the width, if the coordinates are measured.
func (t transfer) powers() (lines []string) {
	for _, name := range []string{"standard", "mup"} {
		for k, place := range coordinateNames() {
			var x, y []float64
			for _, s := range t.of(name) {
				if s.moved[k] > 0 {
					x, y = append(x, math.Log(float64(s.Width))), append(y, math.Log(s.moved[k]))
				}
			}
			if len(x) > 1 {
				_, power := stat.LinearRegression(x, y, nil, false)
				lines = append(lines, fmt.Sprintf("%s, %s: grows as width^%.2f at rate %v", place, name, power,
					t[0].Rates[t[0].Best]))
			}
		}
	}
	return lines
}

// draw draws the losses against the learning rates: a colour for each width, dashed lines without muP.
func (t transfer) draw(w io.Writer) error {
	p := picture.New("learning rate; dashed: standard, full: muP", "validation loss, nats per token")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	picture.Grid(p)
	colours := map[int]color.Color{}
	for _, s := range t {
		if colours[s.Width] == nil {
			colours[s.Width] = palette()[len(colours)%mostCurves]
		}
		var points plotter.XYs
		for i, loss := range s.Losses {
			if loss > 0 {
				points = append(points, plotter.XY{X: s.Rates[i], Y: loss})
			}
		}
		if len(points) == 0 { // all diverged
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		best, err := plotter.NewScatter(plotter.XYs{{X: s.Rates[s.Best], Y: s.Losses[s.Best]}})
		if err != nil {
			return err
		}
		line.Color, line.Width = colours[s.Width], vg.Points(1.4)
		dots.GlyphStyle = draw.GlyphStyle{Color: line.Color, Radius: vg.Points(2), Shape: draw.CircleGlyph{}}
		best.GlyphStyle = draw.GlyphStyle{Color: line.Color, Radius: vg.Points(5), Shape: draw.RingGlyph{}}
		if s.Parametrization == "standard" {
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		}
		p.Add(line, dots, best)
		p.Legend.Add(fmt.Sprintf("width %d, %s", s.Width, s.Parametrization), line)
	}
	return picture.WriteBeside(w, 20*vg.Centimeter, 12*vg.Centimeter, p)
}
