package main

import (
	"fmt"
	"io"
	"math"

	"github.com/pedestrian-ml/pedestrian/examples/internal/picture"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// effects are a grid of what is back: a column for a token, a row for an activation, the first of the network on top.
type effects struct{ inspect.Effects }

func (e effects) Dims() (c, r int)   { return len(e.All[0].By), len(e.All) }
func (e effects) X(c int) float64    { return float64(c) }
func (e effects) Y(r int) float64    { return float64(r) }
func (e effects) Z(c, r int) float64 { return e.All[len(e.All)-1-r].By[c] / (e.Clean - e.Corrupt) }

// drawEffects makes a picture of them: red is what brings the answer back, blue what takes it further away.
func drawEffects(w io.Writer, e inspect.Effects, tokens []string) error {
	const each = 16 // points
	grid := effects{e}
	largest := 0.0
	for _, one := range e.All {
		for _, by := range one.By {
			largest = math.Max(largest, math.Abs(by/(e.Clean-e.Corrupt)))
		}
	}
	if !(largest > 0) || math.IsInf(largest, 0) {
		largest = 1 // of equal answers there is nothing to see
	}
	colors := moreland.SmoothBlueRed()
	colors.SetMin(-largest)
	colors.SetMax(largest)
	heat := plotter.NewHeatMap(grid, colors.Palette(255))
	heat.Min, heat.Max = -largest, largest
	p := picture.New(fmt.Sprintf("red brings the answer back, up to %.0f %%; blue takes it further away", 100*largest), "")
	names := make([]string, len(e.All))
	for i, one := range e.All {
		names[len(names)-1-i] = placed(one)
	}
	p.NominalX(tokens...)
	p.NominalY(names...)
	p.Add(heat)
	width, height := max(14*vg.Centimeter, vg.Points(float64(each*len(tokens)+150))), vg.Points(float64(each*len(names)+60))
	return picture.Write(w, width, height, p.Draw)
}
