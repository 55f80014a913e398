package main

import (
	"image/color"
	"math"
	"strconv"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/examples/internal/picture"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/vg/draw"
)

// heatmap is a grid of numbers with the names of its rows and columns, and a bar that explains the colors.
type heatmap struct {
	title, about  string
	rows, columns []string
	values        [][]float64 // by row
	unit          string      // of the numbers
}

// The layout in pixels.
const (
	cell     = 22
	margin   = 32
	header   = 112
	barWidth = 320
	colors   = 255
)

// sheet draws the heatmap: numbers above 0 are red, below 0 blue.
func (h heatmap) sheet() *picture.Sheet {
	left, below := 0, 0
	for _, name := range h.rows {
		left = max(left, picture.Width(11, name)+8)
	}
	upright := true
	for _, name := range h.columns {
		upright = upright && picture.Width(11, name) < cell
		below = max(below, len([]rune(page.Seen(name)))*picture.SignHeight)
	}
	if upright {
		below = 12
	}
	width := max(left+cell*len(h.columns), barWidth+40, picture.Width(16, h.title), picture.Width(12, h.about))
	s := picture.NewSheet(2*margin+width, header+cell*len(h.rows)+below+margin)
	s.Write(margin, 22, 16, draw.XLeft, h.title)
	s.Write(margin, 44, 12, draw.XLeft, h.about)
	largest, shades := h.largest(), moreland.SmoothBlueRed()
	shades.SetMin(-1)
	shades.SetMax(1)
	list := shades.Palette(colors)
	h.bar(s, largest, list)
	x, y := margin+left, header
	s.Fill(x-1, y-1, cell*len(h.columns)+2, cell*len(h.rows)+2, color.Gray{120})
	for i, row := range h.values {
		s.Write(x-8, y+i*cell+cell/2, 11, draw.XRight, h.rows[i])
		for j, v := range row {
			s.Fill(x+j*cell, y+i*cell, cell, cell, list.Colors()[place(v/largest)])
		}
	}
	for j, name := range h.columns {
		middle := x + j*cell + cell/2
		if upright {
			s.Write(middle, y+cell*len(h.rows)+10, 11, draw.XCenter, name)
			continue
		}
		for k, c := range []rune(page.Seen(name)) {
			s.Sign(middle, y+cell*len(h.rows)+8+k*picture.SignHeight, c)
		}
	}
	return s
}

// bar draws the scale of the colors.
func (h heatmap) bar(s *picture.Sheet, largest float64, list palette.Palette) {
	const x, y, height = margin + 20, 62, 10
	s.Fill(x-1, y-1, barWidth+2, height+2, color.Gray{120})
	for i := range barWidth {
		s.Fill(x+i, y, 1, height, list.Colors()[place(2*float64(i)/(barWidth-1)-1)])
	}
	for i := range 5 {
		v, sign := largest*float64(i-2)/2, map[int]string{0: "−", 1: "−", 3: "+", 4: "+"}[i]
		s.Write(x+barWidth*i/4, y+height+10, 10, draw.XCenter, sign+strconv.FormatFloat(math.Abs(v), 'g', 3, 64)+h.unit)
	}
}

// place returns the index of the color of a share between −1 and 1.
func place(share float64) int {
	if math.IsNaN(share) {
		share = 0
	}
	return int(math.Round((min(1, max(-1, share)) + 1) / 2 * (colors - 1)))
}

// largest returns the largest absolute value, or 1 if all are 0 or one is infinite.
func (h heatmap) largest() (largest float64) {
	for _, row := range h.values {
		for _, v := range row {
			largest = max(largest, math.Abs(v))
		}
	}
	if !(largest > 0) || math.IsInf(largest, 0) {
		return 1
	}
	return largest
}
