// Package picture is what the pictures of the examples share: their letters, their grid, two colours, and how they are
// written.
package picture

import (
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Margin is what stays free on each side, in points: else the last numbers on the axes are cut.
const Margin = 10

// Blue and Red are of what one looks at first.
func Blue() color.Color { return color.RGBA{19, 92, 150, 255} }

// Red returns the other one.
func Red() color.Color { return color.RGBA{214, 69, 37, 255} }

// New returns an empty plot with these labels at its axes, and letters without serifs.
func New(x, y string) *plot.Plot {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.Legend.Padding = vg.Points(3)
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		style.Font.Variant = "Sans"
	}
	return p
}

// Grid adds light lines to a plot, on which the rest is drawn.
func Grid(p *plot.Plot) *plotter.Grid {
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{228}, color.Gray{228}
	p.Add(grid)
	return grid
}

// Write writes what paint puts on an area of that size, as a PNG.
func Write(w io.Writer, width, height vg.Length, paint func(area draw.Canvas)) error {
	c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(144))}
	paint(draw.Crop(draw.New(c), Margin, -Margin, Margin, -Margin))
	_, err := c.WriteTo(w)
	return err
}
