package picture

import (
	"fmt"
	"image/color"
	"io"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Losses draws the loss of every step, and over it the estimates of both losses, with a mark at every evaluation so
// that a single one is visible. The line of val is dashed, so that train's is visible where they coincide. A known
// floor is drawn as a line. The legend is next to the curves, so that it never hides them. loss names what the vertical
// axis shows, and after a comma its unit. The title is the last loss of val in this unit.
func Losses(w io.Writer, loss string, batches, train, val plotter.XYer, floor float64) error {
	p := New("step", loss)
	Grid(p)
	if val.Len() > 0 {
		p.Title.Text = title(val, loss)
	}
	var own plotter.XYs // the text's own entropy
	if floor > 0 && val.Len() > 0 {
		last, _ := val.XY(val.Len() - 1)
		own = plotter.XYs{{X: 0, Y: floor}, {X: last, Y: floor}}
	}
	for _, c := range []struct {
		name   string
		points plotter.XYer
		color  color.Color
		width  vg.Length
		dashes []vg.Length
		mark   draw.GlyphDrawer // nil for none
	}{
		{"batch", batches, color.RGBA{182, 199, 218, 255}, vg.Points(0.7), nil, nil},
		{"the text's own", own, color.Gray{90}, vg.Points(0.7), nil, nil},
		{"train", train, Blue(), vg.Points(1.6), nil, draw.CircleGlyph{}},
		{"val", val, Red(), vg.Points(1.6), []vg.Length{vg.Points(6), vg.Points(4)}, draw.PyramidGlyph{}},
	} {
		if c.points.Len() == 0 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(c.points)
		if err != nil {
			return err
		}
		line.Color, line.Width, line.Dashes = c.color, c.width, c.dashes
		if p.Add(line); c.mark == nil {
			p.Legend.Add(c.name, line)
			continue
		}
		marks.GlyphStyle = draw.GlyphStyle{Color: c.color, Radius: vg.Points(3), Shape: c.mark}
		p.Add(marks)
		p.Legend.Add(c.name, line, marks)
	}
	return WriteBeside(w, 16*vg.Centimeter, 10*vg.Centimeter, p)
}

// title returns the last loss of val with the unit of the axis.
func title(val plotter.XYer, loss string) string {
	_, unit, _ := strings.Cut(loss, ", ")
	_, last := val.XY(val.Len() - 1)
	return strings.TrimSpace(fmt.Sprintf("val: %.4f %s", last, unit))
}
