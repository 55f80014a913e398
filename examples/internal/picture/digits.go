package picture

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// spaced draws text with every digit at its full width. The fonts draw the two digits of 11 closer together, and on a
// grid of pixels over each other.
type spaced struct{ text.Handler }

func handler() text.Handler { return spaced{plot.DefaultTextHandler} }

// Box returns the width, height and depth of one line.
func (s spaced) Box(line string, f font.Font) (width, height, depth vg.Length) {
	for _, run := range split(line) {
		w, h, d := s.Handler.Box(run, f)
		width, height, depth = width+w, max(height, h), max(depth, d)
	}
	return width, height, depth
}

// Draw draws one line. The style gives the line's alignment and rotation.
func (s spaced) Draw(c vg.Canvas, line string, style text.Style, pt vg.Point) {
	width, _, _ := s.Box(line, style.Font)
	c.Push()
	defer c.Pop()
	c.Translate(pt)
	c.Rotate(style.Rotation)
	x := width * vg.Length(style.XAlign)
	style.Rotation, style.XAlign, style.Handler = 0, 0, s.Handler
	for _, run := range split(line) {
		s.Handler.Draw(c, run, style, vg.Point{X: x})
		w, _, _ := s.Handler.Box(run, style.Font)
		x += w
	}
}

// split divides a line between digits.
func split(line string) (runs []string) {
	digit := func(b byte) bool { return '0' <= b && b <= '9' }
	start := 0
	for i := 1; i < len(line); i++ {
		if digit(line[i-1]) && digit(line[i]) {
			runs, start = append(runs, line[start:i]), i
		}
	}
	return append(runs, line[start:])
}
