package main

import (
	"fmt"
	"image/color"
	"io"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// picture draws the efficiency against the machines, with every communication hidden that can be, and with none.
func picture(w io.Writer, shape string, j job, net network) error {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%s, %d micro-batches of %.4g ms, %v", shape, j.Micros, 1e3*j.Micro, net)
	p.X.Label.Text, p.Y.Label.Text = "machines", "efficiency, %"
	p.Y.Min, p.Y.Max = 0, 100
	p.X.Scale, p.Legend.Padding = plot.LogScale{}, vg.Points(3)
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(10), vg.Points(10)
	p.Legend.Left = true
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		style.Font.Variant = "Sans"
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{228}, color.Gray{228}
	p.Add(grid)
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
		{"sums hidden behind the backward pass", hidden, color.RGBA{19, 92, 150, 255}, nil, draw.CircleGlyph{}},
		{"sums after it", open, color.RGBA{214, 69, 37, 255}, []vg.Length{vg.Points(6), vg.Points(4)}, draw.PyramidGlyph{}},
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
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(16*vg.Centimeter, 10*vg.Centimeter), vgimg.UseDPI(144))}
	const margin = 10 // points; else the last numbers on the axes are cut
	p.Draw(draw.Crop(draw.New(canvas), margin, -margin, margin, -margin))
	_, err := canvas.WriteTo(w)
	return err
}
