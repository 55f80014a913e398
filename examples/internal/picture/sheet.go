package picture

import (
	"fmt"
	"image"
	"image/color"
	stock "image/draw"
	"io"
	"math"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// The size in pixels of a sign, which is a character of a token, and of a line of signs.
const (
	SignWidth  = 7
	SignHeight = 11
)

// Sheet is a picture to fill and write on, in pixels from the top left corner.
type Sheet struct {
	stock.Image
	canvas draw.Canvas
	texts  []written
}

// written is a text with its position.
type written struct {
	words string
	image.Rectangle
}

// NewSheet returns a white sheet.
func NewSheet(width, height int) *Sheet {
	canvas := vgimg.NewWith(vgimg.UseWH(vg.Length(width), vg.Length(height)), vgimg.UseDPI(72)) // a point is a pixel
	return &Sheet{Image: canvas.Image(), canvas: draw.New(canvas)}
}

// Fill fills a rectangle.
func (s *Sheet) Fill(x, y, width, height int, c color.Color) {
	stock.Draw(s.Image, image.Rect(x, y, x+width, y+height), image.NewUniform(c), image.Point{}, stock.Src)
}

func style(size float64, variant font.Variant) text.Style {
	style := text.Style{Color: color.Gray{40}, YAlign: draw.YCenter, Handler: handler()}
	style.Font = font.From(font.Font{Typeface: "Liberation", Variant: variant}, vg.Length(size))
	return style
}

// Width returns the number of pixels that words in Sans take.
func Width(size float64, words string) int {
	return int(math.Ceil(float64(style(size, "Sans").Width(words))))
}

// Write writes words in Sans, centred y below the top. Their left end, middle or right end is at x, depending on
// align.
func (s *Sheet) Write(x, y int, size float64, align text.XAlignment, words string) {
	style := style(size, "Sans")
	style.XAlign = align
	s.canvas.FillText(style, vg.Point{X: vg.Length(x), Y: vg.Length(s.Bounds().Dy() - y)}, words)
	left, width, half := x+int(float64(align)*float64(Width(size, words))), Width(size, words), int(size/2)
	s.texts = append(s.texts, written{words, image.Rect(left, y-half, left+width, y+half)})
}

// Sign writes one character of a token, centred at x, y. It draws the signs for a newline and a space, which the font
// lacks.
func (s *Sheet) Sign(x, y int, c rune) {
	box := image.Rect(x-SignWidth/2, y-SignHeight/2, x+SignWidth/2, y+SignHeight/2)
	s.texts = append(s.texts, written{string(c), box})
	switch c {
	case '␣':
		s.strokes(x, y, -3, 1, -3, 4, 3, 4, 3, 1)
	case '⏎':
		s.strokes(x, y, 3, -4, 3, 1, -3, 1)
		s.strokes(x, y, -1, -1, -3, 1, -1, 3)
	default:
		style := style(SignHeight-1, "Mono")
		style.XAlign = draw.XCenter
		s.canvas.FillText(style, vg.Point{X: vg.Length(x), Y: vg.Length(s.Bounds().Dy() - y)}, string(c))
	}
}

// strokes draws a line through points, given as the distances of their coordinates from x, y.
func (s *Sheet) strokes(x, y int, to ...float64) {
	var line []vg.Point
	for i := 0; i < len(to); i += 2 {
		line = append(line, vg.Point{
			X: vg.Length(float64(x) + to[i]), Y: vg.Length(float64(s.Bounds().Dy()-y) - to[i+1]),
		})
	}
	s.canvas.StrokeLines(draw.LineStyle{Color: color.Gray{40}, Width: 1}, line)
}

// Faults lists texts that overlap or are not within the sheet.
func (s *Sheet) Faults() (list []string) {
	for i, a := range s.texts {
		if !a.In(s.Bounds()) {
			list = append(list, fmt.Sprintf("%q at %v is not within %v", a.words, a.Rectangle, s.Bounds()))
		}
		for _, b := range s.texts[:i] {
			if a.Overlaps(b.Rectangle) {
				list = append(list,
					fmt.Sprintf("%q at %v overlaps %q at %v", a.words, a.Rectangle, b.words, b.Rectangle))
			}
		}
	}
	return list
}

// Encode writes the sheet as a PNG.
func (s *Sheet) Encode(w io.Writer) error { return encode(w, s.Image) }
