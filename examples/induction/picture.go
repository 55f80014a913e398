package main

import (
	"fmt"
	"image/color"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/picture"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	canvas "gonum.org/v1/plot/vg/draw"
)

// draw draws the history: the loss of both halves above, and the induction scores of all heads below. heads is the
// number of heads in a block.
func draw(w io.Writer, history []seen, heads int) error {
	above, below := panel("loss, nats"), panel("prefix-matching score")
	below.X.Label.Text, below.Y.Min, below.Y.Max = "step", 0, 1
	grey := color.RGBA{140, 140, 140, 255}
	if err := curve(above, history, "first half", grey, 0, func(s seen) float64 { return s.First }); err != nil {
		return err
	}
	second := func(s seen) float64 { return s.Second }
	if err := curve(above, history, "repetition", picture.Red(), 0, second); err != nil {
		return err
	}
	for i := range history[0].Induction {
		name, c, dash := "", color.Color(grey), 0
		if last := history[len(history)-1].Induction; induces(last[i]) {
			dash = i % heads * 4 // in points, to distinguish the heads
			name, c = fmt.Sprintf("h.%d.%d", i/heads, i%heads), picture.Blue()
		}
		if err := curve(below, history, name, c, dash, func(s seen) float64 { return s.Induction[i] }); err != nil {
			return err
		}
	}
	above.Y.Min = 0
	above.Legend.YOffs = -15 * vg.Millimeter // below the curves' beginnings
	return picture.Write(w, 16*vg.Centimeter, 14*vg.Centimeter, func(area canvas.Canvas) {
		tiles := canvas.Tiles{Rows: 2, Cols: 1, PadY: picture.Margin}
		parts := plot.Align([][]*plot.Plot{{above}, {below}}, tiles, area)
		above.Draw(parts[0][0])
		below.Draw(parts[1][0])
	})
}

func panel(what string) *plot.Plot {
	p := picture.New("", what)
	p.Legend.Top, p.Legend.Left = true, true
	picture.Grid(p)
	return p
}

// curve adds a line over the steps, with dashes of the given length in points if it is positive, and its name to the
// legend unless it is empty.
func curve(p *plot.Plot, history []seen, name string, c color.Color, dash int, of func(seen) float64) error {
	points := make(plotter.XYs, len(history))
	for i, s := range history {
		points[i] = plotter.XY{X: float64(s.Step), Y: of(s)}
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = c, vg.Points(1.4)
	if dash > 0 {
		line.Dashes = []vg.Length{vg.Points(float64(dash)), vg.Points(3)}
	}
	if p.Add(line); name != "" {
		p.Legend.Add(name, line)
	}
	return nil
}
