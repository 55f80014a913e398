package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
)

func painted(t *testing.T, tokens []string, layers []page.Layer) image.Image {
	t.Helper()
	var b bytes.Buffer
	if err := paint(&b, tokens, layers); err != nil {
		t.Fatal(err)
	}
	p, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A weight of exactly 0 has a separate colour, far from the colour of a weight near 0.
func TestZeroIsNoSmallWeight(t *testing.T) {
	tokens, layers := []string{"a", "b"}, []page.Layer{{Name: "h.0", Heads: [][][]float64{{{1, 0}, {1.23456e-12, 1}}}}}
	p, l := painted(t, tokens, layers), layoutOf(tokens, 1)
	at := func(i, j int) color.RGBA {
		x, y := margin+l.left+j*l.cell+l.cell/2, top+caption+i*l.cell+l.cell/2
		return color.RGBAModel.Convert(p.At(x, y)).(color.RGBA)
	}
	colors, err := shades()
	if err != nil {
		t.Fatal(err)
	}
	if zero, small := at(0, 1), at(1, 0); zero != masked() || small != colors[0] {
		t.Errorf("exactly 0 is %v, nearly 0 %v; want %v and %v", zero, small, masked(), colors[0])
	}
	for i, c := range colors {
		far := func(a, b uint8) int { return (int(a) - int(b)) * (int(a) - int(b)) }
		if m := masked(); far(m.R, c.R)+far(m.G, c.G)+far(m.B, c.B) < 60*60 {
			t.Errorf("shade %d, %v, is near that of what is masked, %v", i, c, m)
		}
	}
}

// Every head has the tokens to its left and below it, including newlines and spaces: other tokens change the pixels
// there, and only there.
func TestTokensAreOnTheAxes(t *testing.T) {
	half := [][]float64{{1, 0}, {0.5, 0.5}}
	layers := []page.Layer{
		{Name: "h.0", Heads: [][][]float64{half, half}}, {Name: "h.1", Heads: [][][]float64{half, half}},
	}
	tokens := []string{"a", "bc"}
	l := layoutOf(tokens, 2)
	p := painted(t, tokens, layers)
	for _, others := range [][]string{{"x", "yz"}, {"\n", "yz"}, {" ", "yz"}, {"\t", "yz"}, {"a", "b\n"}} {
		q := painted(t, others, layers)
		inside := func(r image.Rectangle) (n int) {
			for y := r.Min.Y; y < r.Max.Y; y++ {
				for x := r.Min.X; x < r.Max.X; x++ {
					if p.At(x, y) != q.At(x, y) {
						n++
					}
				}
			}
			return n
		}
		sum := 0
		for i := range 4 {
			x, y := margin+l.left+i%2*(l.left+l.size+gap), top+caption+i/2*(caption+l.size+l.below+gap)
			beside, below := image.Rect(x-l.left, y, x, y+l.size), image.Rect(x, y+l.size, x+l.size, y+l.size+l.below)
			if inside(beside) < 5 || inside(below) < 5 {
				t.Errorf(
					"%q, head %d: %d other pixels beside it, %d below it", others, i, inside(beside), inside(below),
				)
			}
			sum += inside(beside) + inside(below)
		}
		if all := inside(p.Bounds()); all != sum {
			t.Errorf("%q: %d other pixels, of them %d on the axes", others, all, sum)
		}
	}
}

// Cells are as high as a line of text if there are few, and at least two pixels if there are many.
func TestLayout(t *testing.T) {
	for n, want := range map[int]int{1: 352, 8: 44, 32: 11, 64: 11, 128: 5, 1024: 2} {
		if l := layoutOf(make([]string, n), 1); l.cell != want || l.size != n*want {
			t.Errorf("%d tokens: got cells of %d, %d in all, want %d", n, l.cell, l.size, want)
		}
	}
}

// A picture of many heads has smaller heads, so that it is not reduced to be seen and its texts stay readable.
func TestManyHeads(t *testing.T) {
	tokens, weights := strings.Split("To be, or not to be", ""), make([][]float64, 19)
	for i := range weights {
		weights[i] = make([]float64, 19)
	}
	var layers []page.Layer
	for i := range 12 {
		l := page.Layer{Name: fmt.Sprintf("h.%d", i)}
		for range 12 {
			l.Heads = append(l.Heads, weights)
		}
		layers = append(layers, l)
	}
	s, err := painting(tokens, layers)
	if err != nil {
		t.Fatal(err)
	}
	if size := s.Bounds().Size(); size.X > widest || size.X < widest/2 || size.Y > 3000 {
		t.Errorf("got %v pixels, want at most %d × 3000 and at least half the width", size, widest)
	}
	for _, fault := range s.Faults() {
		t.Error(fault)
	}
}

// TestTextsFit checks that no texts overlap or lie outside, even with long tokens.
func TestTextsFit(t *testing.T) {
	var tokens []string
	weights := make([][]float64, 40)
	for i := range weights {
		tokens, weights[i] = append(tokens, "a long\ntoken of gpt2"[i%7:]), make([]float64, 40)
	}
	head := page.Layer{Name: "h.11", Heads: [][][]float64{weights, weights}}
	for _, n := range []int{1, 2} {
		s, err := painting(tokens, []page.Layer{head, head}[:n])
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range s.Faults() {
			t.Error(fault)
		}
	}
}
