// Package picture contains what the pictures of the examples share: their fonts, their grid, two colours, and how they
// are written.
package picture

import (
	"image"
	"image/color"
	"image/png"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Margin is the free space on each side in points; without it the last numbers on the axes would be cut.
const Margin = 10

// Blue returns the first of the two main colours.
func Blue() color.Color { return color.RGBA{19, 92, 150, 255} }

// Red returns the second of the two main colours.
func Red() color.Color { return color.RGBA{214, 69, 37, 255} }

// New returns an empty plot with these axis labels, in a sans-serif font.
func New(x, y string) *plot.Plot {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.Legend.Padding = vg.Points(3)
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle,
		&p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		style.Font.Variant, style.Handler = "Sans", handler()
	}
	return p
}

// Grid adds light lines to a plot, below everything else.
func Grid(p *plot.Plot) *plotter.Grid {
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{228}, color.Gray{228}
	p.Add(grid)
	return grid
}

// Write writes a PNG of the given size with the output of paint.
func Write(w io.Writer, width, height vg.Length, paint func(area draw.Canvas)) error {
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(144))
	paint(draw.Crop(draw.New(c), Margin, -Margin, Margin, -Margin))
	return encode(w, c.Image())
}

// WriteBeside writes a PNG of a plot whose legend stands to its right, so that it never hides what is drawn.
func WriteBeside(w io.Writer, width, height vg.Length, p *plot.Plot) error {
	legend := p.Legend
	legend.Top, legend.Left, p.Legend = true, true, plot.NewLegend()
	return Write(w, width, height, func(area draw.Canvas) {
		right := area.Max.X - legend.Rectangle(area).Size().X
		legend.Draw(draw.Crop(area, right-area.Min.X, 0, 0, 0))
		p.Draw(draw.Crop(area, 0, right-Margin-area.Max.X, 0, 0))
	})
}

// encode writes a PNG. A picture is drawn again at every evaluation, so it prefers a short time to a short file.
func encode(w io.Writer, m image.Image) error {
	return (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(w, m)
}
