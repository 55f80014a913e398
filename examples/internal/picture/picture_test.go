package picture

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// The legend stands beside the axes: with a longer name the line ends further to the left.
func TestWriteBeside(t *testing.T) {
	end := func(name string) (right int) {
		p := New("x", "y")
		p.HideAxes()
		line, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}})
		if err != nil {
			t.Fatal(err)
		}
		line.Color, line.Width = Red(), vg.Points(2)
		p.Add(line)
		p.Legend.Add(name)
		var b bytes.Buffer
		if err := WriteBeside(&b, 300, 200, p); err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		each(m.Bounds(), func(x, y int) {
			if r, g, _, _ := m.At(x, y).RGBA(); r > 0x8000 && g < 0x8000 {
				right = max(right, x)
			}
		})
		return right
	}
	short, long := end("a"), end("a name of many letters")
	if short-long < 100 || short > 580 {
		t.Errorf(
			"the line ends at %d of 600 pixels with a short name and at %d with a long one, want them far apart", short,
			long,
		)
	}
}

func each(r image.Rectangle, f func(x, y int)) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			f(x, y)
		}
	}
}
