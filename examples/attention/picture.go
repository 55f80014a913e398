package main

import (
	"fmt"
	"image"
	"image/color"
	stock "image/draw"
	"image/png"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// shades go from no weight to all of it, evenly in lightness.
func shades() (list [256]color.Color, err error) {
	scale, err := moreland.NewLuminance([]color.Color{
		color.RGBA{28, 12, 66, 255}, color.RGBA{124, 28, 109, 255}, color.RGBA{222, 84, 62, 255},
		color.RGBA{252, 186, 88, 255}, color.RGBA{255, 250, 238, 255},
	})
	if err != nil {
		return list, err
	}
	scale.SetMax(1)
	for i := range list {
		if list[i], err = scale.At(1 - float64(i)/255); err != nil {
			return list, err
		}
	}
	return list, nil
}

// shade is the place of a weight among them: by the root, which shows the small ones too.
func shade(weight float64) int { return int(math.Round(255 * math.Sqrt(min(1, max(0, weight))))) }

// The layout in pixels.
const (
	side   = 300 // of a head, about
	gap    = 16
	title  = 26 // above a head
	header = 84
	margin = 52
	legend = 480 // its width
)

// sheet is a picture that one writes on.
type sheet struct {
	stock.Image
	canvas draw.Canvas
	colors [256]color.Color
}

func newSheet(width, height int) (s sheet, err error) {
	canvas := vgimg.NewWith(vgimg.UseWH(vg.Length(width), vg.Length(height)), vgimg.UseDPI(72)) // a point is a pixel
	s.Image, s.canvas = canvas.Image(), draw.New(canvas)
	s.colors, err = shades()
	return s, err
}

func (s sheet) fill(x, y, width, height int, c color.Color) {
	stock.Draw(s.Image, image.Rect(x, y, x+width, y+height), image.NewUniform(c), image.Point{}, stock.Src)
}

// write centres a text at x, y, or at its left end.
func (s sheet) write(x, y int, size float64, variant font.Variant, align text.XAlignment, words string) {
	style := text.Style{Color: color.Gray{40}, XAlign: align, YAlign: draw.YCenter, Handler: plot.DefaultTextHandler}
	style.Font = font.From(font.Font{Typeface: "Liberation", Variant: variant}, vg.Length(size))
	s.canvas.FillText(style, vg.Point{X: vg.Length(x), Y: vg.Length(s.Bounds().Dy() - y)}, words)
}

// paint makes a picture of all heads, a row for a layer.
func paint(w io.Writer, tokens []string, layers []layer) error {
	columns, cell := len(layers[0].Heads), max(2, side/len(tokens))
	size := cell * len(tokens)
	s, err := newSheet(max(legend, margin+columns*(size+gap)), header+len(layers)*(size+gap+title)+margin)
	if err != nil {
		return err
	}
	s.legend()
	for i, l := range layers {
		y := header + title + i*(size+gap+title)
		for h, a := range l.Heads {
			x := margin + h*(size+gap)
			s.write(x, y-title/2+2, 13, "Sans", draw.XLeft, fmt.Sprintf("%s  head %d", l.Name, h))
			s.head(x, y, cell, a)
			if i == len(layers)-1 {
				s.tokens(x+cell/2, y+size+10, cell, 0, tokens)
			}
		}
		s.tokens(margin-12, y+cell/2, 0, cell, tokens)
	}
	return png.Encode(w, s.Image)
}

// head draws one matrix in a frame; exact zeros, which a mask makes, stay grey.
func (s sheet) head(x, y, cell int, a matrix) {
	size := cell * len(a)
	s.fill(x-1, y-1, size+2, size+2, color.Gray{170})
	for i, row := range a {
		for j, v := range row {
			c := s.colors[shade(v)]
			if v == 0 {
				c = color.Gray{236}
			}
			s.fill(x+j*cell, y+i*cell, cell, cell, c)
		}
	}
}

// tokens writes them one after another, unless there is no room.
func (s sheet) tokens(x, y, right, down int, tokens []string) {
	if step := max(right, down); step < 8 {
		return
	}
	for i, t := range tokens {
		s.write(x+i*right, y+i*down, 10, "Mono", draw.XCenter, visible(t))
	}
}

// visible is a token that one can see.
func visible(token string) string {
	switch token {
	case " ":
		return "·"
	case "\n":
		return "¶"
	}
	return token
}

// legend says what is shown, and in which colours.
func (s sheet) legend() {
	s.write(margin, 22, 16, "Sans", draw.XLeft, "Attention weights")
	s.write(margin, 44, 12, "Sans", draw.XLeft, "a row is a query and adds up to 1, a column is a key; grey is masked")
	const x, y, width, height = margin, 58, 256, 10
	for i, c := range s.colors {
		s.fill(x+i, y, 1, height, c)
	}
	for _, v := range []float64{0, 0.01, 0.1, 0.25, 0.5, 1} {
		s.write(x+shade(v), y+height+8, 10, "Sans", draw.XCenter, fmt.Sprint(v))
	}
}
