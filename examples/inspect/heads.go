package main

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/examples/internal/picture"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/vg/draw"
)

// The layout of the heads in pixels.
const (
	widest  = 2400 // of a picture whose heads can be this small
	side    = 352  // of a head if there is room: at least this, and at most twice this if cells are larger than a pixel
	least   = 96   // of a head
	gap     = 16
	caption = 26 // above a head
	top     = 84
	legend  = 560 // its width
	wide    = picture.SignWidth
	high    = picture.SignHeight
)

// layout holds the sizes of a head: of a cell, of all cells, and of the tokens to the left and below.
type layout struct{ cell, size, left, below int }

func layoutOf(tokens []string, heads int) (l layout) {
	for _, t := range tokens {
		n := len([]rune(page.Seen(t)))
		l.left, l.below = max(l.left, n*wide+4), max(l.below, n*high+4)
	}
	n, room := len(tokens), (widest-2*margin)/heads-l.left-gap
	if l.cell = min(max(side/n, high), max(2, 2*side/n)); n*l.cell > room {
		l.cell = max(1, max(least, room)/n)
	}
	l.size = n * l.cell
	return l
}

// paint draws the weights of all heads, with a row for each block.
func paint(w io.Writer, tokens []string, layers []page.Layer) error {
	s, err := painting(tokens, layers)
	if err != nil {
		return err
	}
	return s.Encode(w)
}

func painting(tokens []string, layers []page.Layer) (s sheet, err error) {
	l := layoutOf(tokens, len(layers[0].Heads))
	right, down := l.left+max(l.size, least)+gap, caption+l.size+l.below+gap
	s, err = newSheet(max(legend, 2*margin+len(layers[0].Heads)*right), top+len(layers)*down+margin)
	if err != nil {
		return s, err
	}
	s.legend()
	for i, row := range layers {
		y := top + caption + i*down
		for h, a := range row.Heads {
			x := margin + l.left + h*right
			s.Write(x, y-caption/2+2, 13, draw.XLeft, fmt.Sprintf("%s  head %d", row.Name, h))
			s.head(x, y, l.cell, a)
			s.tokens(x, y, l, tokens)
		}
	}
	return s, nil
}

// head draws one matrix in a frame.
func (s sheet) head(x, y, cell int, a [][]float64) {
	size := cell * len(a)
	s.Fill(x-1, y-1, size+2, size+2, color.Gray{120})
	for i, row := range a {
		for j, v := range row {
			c := s.colors[shade(v)]
			if v == 0 {
				c = masked()
			}
			s.Fill(x+j*cell, y+i*cell, cell, cell, c)
		}
	}
}

// tokens writes the queries to the left of a head and the keys below it, from top to bottom; it skips some if cells
// are small.
func (s sheet) tokens(x, y int, l layout, tokens []string) {
	each := (high + l.cell - 1) / l.cell
	for i := 0; i < len(tokens); i += each {
		seen := []rune(page.Seen(tokens[i]))
		middle := i*l.cell + l.cell/2
		for j, c := range seen {
			s.Sign(x-5-wide/2-(len(seen)-1-j)*wide, y+middle, c)
			s.Sign(x+middle, y+l.size+4+high/2+j*high, c)
		}
	}
}

// legend explains the rows, columns and colours.
func (s sheet) legend() {
	s.Write(margin, 22, 16, draw.XLeft, "Attention weights")
	s.Write(margin, 44, 12, draw.XLeft, "each row is a query and adds up to 1, each column is a key; "+
		"the colour depends on the square root of the weight")
	const x, y, width, height = margin, 58, 256, 10
	s.Fill(x-1, y-1, width+2, height+2, color.Gray{120})
	for i, c := range s.colors {
		s.Fill(x+i, y, 1, height, c)
	}
	for _, v := range scale() {
		s.Write(x+shade(v), y+height+8, 10, draw.XCenter, fmt.Sprint(v))
	}
	const zero = x + width + 40
	s.Fill(zero-1, y-1, 2*height+2, height+2, color.Gray{120})
	s.Fill(zero, y, 2*height, height, masked())
	s.Write(zero+2*height+8, y+height/2, 12, draw.XLeft, "exactly 0: masked")
}

// scale returns the weights with numbers on the colour bar; its left end is a weight of nearly 0.
func scale() []float64 { return []float64{0, 0.01, 0.1, 0.25, 0.5, 1} }

// shades returns colours from almost no weight to full weight, evenly spaced in lightness.
func shades() (list [256]color.RGBA, err error) {
	scale, err := moreland.NewLuminance([]color.Color{
		color.RGBA{28, 12, 66, 255}, color.RGBA{124, 28, 109, 255}, color.RGBA{222, 84, 62, 255},
		color.RGBA{252, 186, 88, 255}, color.RGBA{255, 250, 238, 255},
	})
	if err != nil {
		return list, err
	}
	scale.SetMax(1)
	for i := range list {
		c, err := scale.At(1 - float64(i)/255)
		if err != nil {
			return list, err
		}
		list[i] = color.RGBAModel.Convert(c).(color.RGBA)
	}
	return list, nil
}

// masked returns the colour of a weight of exactly 0, which differs from all shades.
func masked() color.RGBA { return color.RGBA{196, 210, 226, 255} }

// shade returns the index of a weight's shade: its square root, so that small weights are visible too.
func shade(weight float64) int { return int(math.Round(255 * math.Sqrt(min(1, max(0, weight))))) }

// sheet is a picture in the shades.
type sheet struct {
	*picture.Sheet
	colors [256]color.RGBA
}

func newSheet(width, height int) (s sheet, err error) {
	s.Sheet = picture.NewSheet(width, height)
	s.colors, err = shades()
	return s, err
}
