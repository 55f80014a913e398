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

// drawAblation draws the increases of the loss: a heatmap of the heads, or a bar for each other part.
func drawAblation(w io.Writer, loss float64, without []inspect.Ablation) error {
	if len(without) > 0 && without[0].Head >= 0 {
		return ablated(loss, without).sheet().Encode(w)
	}
	return bars(w, loss, without)
}

// block returns h.3 for h.3.mlp.
func block(place string) string { return strings.Join(strings.SplitN(place, ".", 3)[:2], ".") }

// ablated returns the heatmap of the loss without each head.
func ablated(loss float64, without []inspect.Ablation) heatmap {
	h := heatmap{title: "The loss without each head",
		about: "the increase in nats if the head is left out; each row is a block, each column a head"}
	for _, a := range without {
		if name := block(a.Place); len(h.rows) == 0 || h.rows[len(h.rows)-1] != name {
			h.rows, h.values = append(h.rows, name), append(h.values, nil)
		}
		last := len(h.rows) - 1
		if h.values[last] = append(h.values[last], a.Loss-loss); len(h.values[last]) > len(h.columns) {
			h.columns = append(h.columns, fmt.Sprint(a.Head))
		}
	}
	return h
}

// back returns the heatmap of the fraction of the answer that each activation restores, in percent.
func back(e inspect.Effects, tokens []string) heatmap {
	h := heatmap{title: "Where the answer comes from", columns: tokens, unit: " %",
		about: "the fraction of the answer that is restored if an activation at a token is the prompt's"}
	for _, one := range e.All {
		row := make([]float64, len(one.By))
		for i, by := range one.By {
			row[i] = 100 * by / (e.Clean - e.Corrupt)
		}
		h.rows, h.values = append(h.rows, placed(one)), append(h.values, row)
	}
	return h
}

// bars draws a bar for each part, with its block below it.
func bars(w io.Writer, loss float64, without []inspect.Ablation) error {
	const each = 34 // points, room for the longest name
	p, more := picture.New("left out", "more loss, nats"), make(plotter.Values, len(without))
	p.Title.Text = "The loss without each part"
	names := make([]string, len(without))
	for i, a := range without {
		more[i], names[i] = a.Loss-loss, block(a.Place)
	}
	bars, err := plotter.NewBarChart(more, vg.Points(each/2))
	if err != nil {
		return err
	}
	bars.Color, bars.LineStyle.Width = picture.Blue(), 0
	p.NominalX(names...)
	picture.Grid(p).Vertical.Width = 0
	p.Add(plotter.NewFunction(func(float64) float64 { return 0 }), bars)
	p.X.Min, p.X.Max = -0.7, float64(len(without))-0.3 // complete bars at the ends, and room above the highest
	p.Y.Max += (p.Y.Max - p.Y.Min) / 16
	width := max(10*vg.Centimeter, vg.Points(float64(each*len(without)+80)))
	return picture.Write(w, width, 8*vg.Centimeter, p.Draw)
}
