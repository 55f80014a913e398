package main

import (
	"image"
	"image/color"
	stock "image/draw"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// shades go from hardly any weight to all of it, evenly in lightness.
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

// masked is the colour of a weight of exactly 0, which is none of the shades.
func masked() color.RGBA { return color.RGBA{196, 210, 226, 255} }

// shade is the place of a weight among them: by the root, which shows the small ones too.
func shade(weight float64) int { return int(math.Round(255 * math.Sqrt(min(1, max(0, weight))))) }

// sheet is a picture that one writes on.
type sheet struct {
	stock.Image
	canvas draw.Canvas
	colors [256]color.RGBA
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

// sign writes one character in the middle of x, y. The font lacks those that stand for a newline and a space.
func (s sheet) sign(x, y int, c rune) {
	switch c {
	case '␣':
		s.strokes(x, y, -3, 1, -3, 4, 3, 4, 3, 1)
	case '⏎':
		s.strokes(x, y, 3, -4, 3, 1, -3, 1)
		s.strokes(x, y, -1, -1, -3, 1, -1, 3)
	default:
		s.write(x, y, tokenSize, "Mono", draw.XCenter, string(c))
	}
}

// strokes is a line through points, given as the distances of their coordinates from x, y.
func (s sheet) strokes(x, y int, to ...float64) {
	var line []vg.Point
	for i := 0; i < len(to); i += 2 {
		line = append(line, vg.Point{X: vg.Length(float64(x) + to[i]), Y: vg.Length(float64(s.Bounds().Dy()-y) - to[i+1])})
	}
	s.canvas.StrokeLines(draw.LineStyle{Color: color.Gray{40}, Width: 1}, line)
}
