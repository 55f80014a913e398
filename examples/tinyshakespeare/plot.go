package main

import (
	"image/color"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// plotLosses draws the loss of every step, and the estimates of both losses at the evaluations; the floor, where it
// is known, is a line.
func plotLosses(w io.Writer, steps []program.StepLine, evals []program.EvalLine, floor float64) error {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "step", "cross entropy, nats per character"
	p.Legend.Top, p.Legend.Padding, p.Legend.YOffs = true, vg.Points(3), -vg.Points(4)
	for _, style := range []*text.Style{
		&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		style.Font.Variant = "Sans"
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{228}, color.Gray{228}
	p.Add(grid)
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
		{"batch", batches, color.RGBA{170, 190, 212, 255}, vg.Points(0.7)},
		{"train", train, color.RGBA{31, 119, 180, 255}, vg.Points(1.6)},
		{"val", val, color.RGBA{214, 69, 37, 255}, vg.Points(1.6)},
	}
	if floor > 0 && len(evals) > 0 {
		ends := plotter.XYs{{X: 0, Y: floor}, {X: float64(evals[len(evals)-1].Step), Y: floor}}
		curves = append(curves, curves[0])
		curves[3].name, curves[3].points, curves[3].color = "the text's own", ends, color.Gray{90}
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
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(16*vg.Centimeter, 10*vg.Centimeter), vgimg.UseDPI(144))}
	margin := vg.Points(10) // else the last numbers on the axes are cut
	p.Draw(draw.Crop(draw.New(canvas), margin, -2*margin, margin, -margin))
	_, err := canvas.WriteTo(w)
	return err
}
