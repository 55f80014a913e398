package main

import (
	"fmt"
	"image/color"
	"io"
	"strconv"

	"github.com/pedestrian-ml/pedestrian/examples/internal/picture"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// chart draws the efficiency against the machines, with communication hidden where possible, and with none hidden.
func chart(w io.Writer, shape string, j job, net network) error {
	p := picture.New("machines", "efficiency, %")
	p.Title.Text = fmt.Sprintf("%s, %d micro-batches of %.4g ms, %v", shape, j.Micros, 1e3*j.Micro, net)
	p.Y.Min, p.Y.Max = 0, 100
	p.X.Scale = plot.LogScale{}
	picture.Grid(p)
	var hidden, open plotter.XYs
	var ticks plot.ConstantTicks
	for _, n := range j.machines() {
		x, computing := float64(n), j.Micro*float64(j.Micros)/float64(n)
		hidden = append(hidden, plotter.XY{X: x, Y: 100 * j.efficiency(n, net)})
		open = append(open, plotter.XY{X: x, Y: 100 * computing / (computing + net.allReduce(n, j.Bytes))})
		ticks = append(ticks, plot.Tick{Value: x, Label: strconv.Itoa(n)})
	}
	p.X.Tick.Marker = ticks
	p.X.Max = max(2, p.X.Max)
	for _, c := range []struct {
		name   string
		points plotter.XYs
		color  color.Color
		dashes []vg.Length
		mark   draw.GlyphDrawer
	}{
		{"sums hidden behind the backward pass", hidden, picture.Blue(), nil, draw.CircleGlyph{}},
		{"sums after it", open, picture.Red(), []vg.Length{vg.Points(6), vg.Points(4)}, draw.PyramidGlyph{}},
	} {
		line, marks, err := plotter.NewLinePoints(c.points)
		if err != nil {
			return err
		}
		line.Color, line.Width, line.Dashes = c.color, vg.Points(1.6), c.dashes
		marks.GlyphStyle = draw.GlyphStyle{Color: c.color, Radius: vg.Points(3), Shape: c.mark}
		p.Add(line, marks)
		p.Legend.Add(c.name, line, marks)
	}
	return picture.WriteBeside(w, 20*vg.Centimeter, 10*vg.Centimeter, p)
}
