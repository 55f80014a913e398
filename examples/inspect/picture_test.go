package main

import (
	"fmt"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
)

// TestPicturesFit checks that no texts of the pictures overlap or lie outside, even with many heads and long tokens.
func TestPicturesFit(t *testing.T) {
	var without []inspect.Ablation
	e := inspect.Effects{Clean: 2, Corrupt: -1}
	var tokens []string
	for i := range 12 {
		for h := range 12 {
			without = append(
				without,
				inspect.Ablation{Place: fmt.Sprintf("h.%d.attn.heads", i), Head: h, Loss: 2 + float64(i*h-30)/97},
			)
		}
		by := make([]float64, 40)
		for j := range by {
			by[j] = float64(i*j-100) / 31
		}
		e.All = append(e.All, inspect.Effect{Place: fmt.Sprintf("h.%d.attn.heads", i), Head: i, By: by})
	}
	for i := range 40 {
		tokens = append(tokens, "a long\ntoken of gpt2"[i%7:])
	}
	for name, h := range map[string]heatmap{"ablation": ablated(2, without), "patching": back(e, tokens),
		"one cell": back(
			inspect.Effects{All: []inspect.Effect{{Place: "h.0", Head: -1, By: []float64{0}}}}, []string{"\n"},
		)} {
		for _, fault := range h.sheet().Faults() {
			t.Errorf("%s: %s", name, fault)
		}
	}
}

// TestHeatmapColors checks that a cell has the color of its number in the bar.
func TestHeatmapColors(t *testing.T) {
	h := heatmap{
		rows: []string{"h.0"}, columns: []string{"0", "1", "2", "3"}, values: [][]float64{{-0.5, 0, 0.25, 0.5}},
	}
	s := h.sheet()
	const x, y = margin + 20, 62 + 5
	left := -1
	for i := range s.Bounds().Dx() { // the first cell is behind the frame
		if s.At(i, header+cell/2) == s.At(x, y) {
			left = i
			break
		}
	}
	for j, at := range []int{0, barWidth / 2, barWidth * 3 / 4, barWidth - 1} {
		got, want := s.At(left+j*cell+cell/2, header+cell/2), s.At(x+at, y)
		r, g, b, _ := got.RGBA()
		wr, wg, wb, _ := want.RGBA()
		for _, d := range []int{int(r>>8) - int(wr>>8), int(g>>8) - int(wg>>8), int(b>>8) - int(wb>>8)} {
			if d > 3 || d < -3 {
				t.Errorf("cell %d has the color %v, the bar %v at its number", j, got, want)
			}
		}
	}
}
