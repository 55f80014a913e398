package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/picture"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// draw makes a picture of what is lost: a bar for each part, the first of a block with its name below it.
func draw(w io.Writer, loss float64, without []inspect.Ablation) error {
	const each = 16 // points
	p, more, names := picture.New("left out", "more loss, nats"), make(plotter.Values, len(without)), make([]string, len(without))
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
	bars.Color, bars.LineStyle.Width = picture.Blue(), 0
	if len(without) > 0 && without[0].Head >= 0 {
		p.X.Label.Text = "left out: head 0 of block h.i, and the others"
	}
	p.NominalX(names...)
	picture.Grid(p).Vertical.Width = 0
	p.Add(bars)
	p.X.Min, p.X.Max = -0.7, float64(len(without))-0.3 // the bars at the ends whole, and room above the highest
	p.Y.Max += (p.Y.Max - p.Y.Min) / 16
	width := max(10*vg.Centimeter, vg.Points(float64(each*len(without)+80)))
	return picture.Write(w, width, 8*vg.Centimeter, p.Draw)
}
