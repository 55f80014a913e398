package main

import (
	"fmt"
	"image/color"
	"io"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	canvas "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// draw makes a picture of what is lost: a bar for each part, the first of a block with its name below it.
func draw(w io.Writer, loss float64, without []inspect.Ablation) error {
	const each, margin = 16, 10 // points; without a margin the last numbers on the axes are cut
	p, more, names := plot.New(), make(plotter.Values, len(without)), make([]string, len(without))
	for i, a := range without {
		more[i] = a.Loss - loss
		if names[i] = fmt.Sprint(a.Head); a.Head < 1 {
			names[i] = strings.Join(strings.SplitN(a.Place, ".", 3)[:2], ".")
		}
	}
	bars, err := plotter.NewBarChart(more, vg.Points(each-5))
	if err != nil {
		return err
	}
	bars.Color, bars.LineStyle.Width = color.RGBA{19, 92, 150, 255}, 0
	p.X.Label.Text, p.Y.Label.Text = "left out", "more loss, nats"
	if len(without) > 0 && without[0].Head >= 0 {
		p.X.Label.Text = "left out: head 0 of block h.i, and the others"
	}
	p.NominalX(names...)
	for _, style := range []*text.Style{&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		style.Font.Variant = "Sans"
	}
	grid := plotter.NewGrid()
	grid.Vertical.Width, grid.Horizontal.Color = 0, color.Gray{228}
	p.Add(grid, bars)
	p.X.Min, p.X.Max = -0.7, float64(len(without))-0.3 // the bars at the ends whole, and room above the highest
	p.Y.Max += (p.Y.Max - p.Y.Min) / 16
	width := max(10*vg.Centimeter, vg.Points(float64(each*len(without)+80)))
	c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, 8*vg.Centimeter), vgimg.UseDPI(144))}
	p.Draw(canvas.Crop(canvas.New(c), margin, -margin, margin, -margin))
	_, err = c.WriteTo(w)
	return err
}
