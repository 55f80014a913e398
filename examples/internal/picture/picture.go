// Package picture contains what the pictures of the examples share: their fonts, their grid, two colours, and how they
// are written.
package picture

import (
	"cmp"
	"encoding/binary"
	"image"
	"image/color"
	stock "image/draw"
	"image/png"
	"io"
	"maps"
	"slices"

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
	p.BackgroundColor = nil // the canvas is white
	p.Legend.Padding = vg.Points(3)
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle,
		&p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		style.Font.Variant = "Sans"
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

// encode writes a PNG with the 256 most frequent colours of m. The others, which smooth edges, become the nearest of
// these. A picture is drawn again at every evaluation, and all colours would take about three times as long to write.
func encode(w io.Writer, m image.Image) error {
	all, ok := m.(*image.RGBA)
	if !ok {
		all = image.NewRGBA(m.Bounds())
		stock.Draw(all, all.Rect, m, all.Rect.Min, stock.Src)
	}
	counts := map[uint32]int{}
	eachRun(all, func(c uint32, from, to int) { counts[c] += to - from })
	colours := slices.SortedFunc(maps.Keys(counts), func(a, b uint32) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b))
	})
	rgba := func(c uint32) color.RGBA { return color.RGBA{uint8(c >> 24), uint8(c >> 16), uint8(c >> 8), uint8(c)} }
	var palette color.Palette
	for _, c := range colours[:min(len(colours), 256)] {
		palette = append(palette, rgba(c))
	}
	index := map[uint32]uint8{}
	for _, c := range colours {
		index[c] = uint8(palette.Index(rgba(c)))
	}
	few := image.NewPaletted(all.Rect, palette)
	eachRun(all, func(c uint32, from, to int) {
		for i, x := from, index[c]; i < to; i++ {
			few.Pix[i] = x
		}
	})
	return (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(w, few)
}

// eachRun calls f for all runs of pixels of one colour, 0xRRGGBBAA, with the number of the first pixel and the end.
func eachRun(m *image.RGBA, f func(c uint32, from, to int)) {
	at := func(i int) uint32 { return binary.BigEndian.Uint32(m.Pix[4*i:]) }
	for from, n := 0, len(m.Pix)/4; from < n; {
		c, to := at(from), from+1
		for to < n && at(to) == c {
			to++
		}
		f(c, from, to)
		from = to
	}
}
