package main

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"slices"

	"github.com/pedestrian-ml/pedestrian/examples/internal/picture"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// forest draws the differences from the baseline with their 95 % intervals, an arm below the other.
func (s *summary) forest(w io.Writer) error {
	var points plotter.XYs
	var errs plotter.XErrors
	var ticks plot.ConstantTicks
	for _, t := range s.Tables {
		for _, r := range t.Rows {
			if r.Difference == nil {
				continue
			}
			name, y := r.Arm, -float64(len(points))
			if len(s.Tables) > 1 {
				name += " on " + t.Text
			}
			d := r.Difference
			points = append(points, plotter.XY{X: d.Mean, Y: y})
			errs = append(errs, struct{ Low, High float64 }{d.Low - d.Mean, d.High - d.Mean})
			ticks = append(ticks, plot.Tick{Value: y, Label: name})
		}
	}
	unit := "nats per token"
	if s.Tables[0].Task != nil {
		unit = accuracy
	}
	p := picture.New("difference from the baseline, "+unit+", with 95 % interval", "")
	p.Title.Text = s.Name
	picture.Grid(p)
	p.Y.Tick.Marker, p.Y.Tick.Length = ticks, 0
	p.Y.Min, p.Y.Max = 0.5-float64(max(1, len(points))), 0.5
	if len(points) > 0 {
		bars, err := plotter.NewXErrorBars(struct {
			plotter.XYs
			plotter.XErrors
		}{points, errs})
		if err != nil {
			return err
		}
		bars.LineStyle = draw.LineStyle{Color: picture.Blue(), Width: vg.Points(1.6)}
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: picture.Blue(), Radius: vg.Points(3), Shape: draw.CircleGlyph{}}
		zero, err := plotter.NewLine(plotter.XYs{{X: 0, Y: p.Y.Min}, {X: 0, Y: p.Y.Max}})
		if err != nil {
			return err
		}
		zero.Color, zero.Dashes = color.Gray{90}, []vg.Length{vg.Points(4), vg.Points(3)}
		p.Add(zero, bars, dots)
	}
	height := vg.Length(max(6, 3+0.6*float64(len(points)))) * vg.Centimeter
	return picture.Write(w, 18*vg.Centimeter, height, p.Draw)
}

// mostCurves is the number of curves in a picture: of the baseline, and of the arms with the lowest loss.
const mostCurves = 6

// mostLetters is the number of letters of an arm's name in a legend.
const mostLetters = 36

// shortened returns a name without the letters that a legend has no room for.
func shortened(name string) string {
	letters := []rune(name)
	if len(letters) <= mostLetters {
		return name
	}
	return string(letters[:mostLetters-1]) + "…"
}

// palette returns the colours of the curves.
func palette() [mostCurves]color.RGBA {
	return [mostCurves]color.RGBA{{19, 92, 150, 255}, {214, 69, 37, 255}, {44, 138, 99, 255}, {138, 92, 184, 255},
		{138, 122, 31, 255}, {90, 94, 102, 255}}
}

// curves draws the mean validation losses over the steps on the first text, with bands of a standard deviation.
func (s *summary) curves(w io.Writer) error {
	rows := slices.Clone(s.Tables[0].Rows)
	slices.SortStableFunc(rows[1:], func(a, b row) int { return cmp.Compare(a.Loss, b.Loss) })
	drawn := rows[:min(len(rows), mostCurves)]
	p := picture.New("step", "validation loss, nats per token")
	p.Title.Text = s.Name
	if len(drawn) < len(rows) {
		p.Title.Text += fmt.Sprintf(": %d of %d arms, the baseline and the lowest losses", len(drawn), len(rows))
	}
	picture.Grid(p)
	for i, r := range drawn {
		var mean, band plotter.XYs
		for _, b := range r.Curve {
			mean = append(mean, plotter.XY{X: float64(b.Step), Y: b.Mean})
			band = append(band, plotter.XY{X: float64(b.Step), Y: b.Mean + b.SD})
		}
		for _, b := range slices.Backward(r.Curve) {
			band = append(band, plotter.XY{X: float64(b.Step), Y: b.Mean - b.SD})
		}
		if len(mean) == 0 { // diverged before the first evaluation
			continue
		}
		line, marks, err := plotter.NewLinePoints(mean)
		if err != nil {
			return err
		}
		area, err := plotter.NewPolygon(band)
		if err != nil {
			return err
		}
		c := palette()[i]
		line.Color, line.Width = c, vg.Points(1.6)
		marks.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
		area.Color, area.LineStyle.Width = color.NRGBA{c.R, c.G, c.B, 40}, 0
		p.Add(area, line, marks)
		p.Legend.Add(shortened(r.Arm), line, marks)
	}
	return picture.WriteBeside(w, 20*vg.Centimeter, 10*vg.Centimeter, p)
}
