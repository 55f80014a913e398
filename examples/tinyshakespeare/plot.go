package main

import (
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// plotLosses draws the loss of every step, and the estimates of both losses at the evaluations; a text that knows its own
// entropy has it as a line.
func plotLosses(w io.Writer, steps []stepLine, evals []evalLine, floor float64) error {
	p := plot.New()
	p.Title.Text = "cross entropy"
	p.X.Label.Text, p.Y.Label.Text = "step", "nats per character"
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	batches, train, val := make(plotter.XYs, len(steps)), make(plotter.XYs, len(evals)), make(plotter.XYs, len(evals))
	for i, s := range steps {
		batches[i] = plotter.XY{X: float64(s.Step), Y: s.Loss}
	}
	for i, e := range evals {
		train[i], val[i] = plotter.XY{X: float64(e.Step), Y: e.Train}, plotter.XY{X: float64(e.Step), Y: e.Val}
	}
	curves := []struct {
		name   string
		points plotter.XYs
		color  color.Color
		width  vg.Length
	}{
		{"batch", batches, color.RGBA{190, 205, 220, 255}, vg.Points(0.7)},
		{"train", train, color.RGBA{31, 119, 180, 255}, vg.Points(1.6)},
		{"val", val, color.RGBA{214, 69, 37, 255}, vg.Points(1.6)},
	}
	if floor > 0 && len(evals) > 0 {
		ends := plotter.XYs{{X: 0, Y: floor}, {X: float64(evals[len(evals)-1].Step), Y: floor}}
		curves = append(curves, curves[0])
		curves[3].name, curves[3].points, curves[3].color = "the text's own", ends, color.Gray{110}
	}
	for _, c := range curves {
		if len(c.points) == 0 {
			continue
		}
		line, err := plotter.NewLine(c.points)
		if err != nil {
			return err
		}
		line.Color, line.Width = c.color, c.width
		p.Add(line)
		p.Legend.Add(c.name, line)
	}
	image, err := p.WriterTo(16*vg.Centimeter, 10*vg.Centimeter, "png")
	if err != nil {
		return err
	}
	_, err = image.WriteTo(w)
	return err
}
