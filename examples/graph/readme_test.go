package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// parameter is the fill color of a parameter's box.
const parameter = "#dbe7f5"

// dot returns what -dot h.0 writes with the given flags.
func dot(t *testing.T, flags ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(append([]string{"-dot", "h.0"}, flags...), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestBiases checks that the drawing has a box for every parameter of the block, and biases only if the model has them.
func TestBiases(t *testing.T) {
	for _, c := range []struct {
		flags         []string
		boxes, biases int
	}{
		{nil, 6, 0}, {[]string{"-kernels=false"}, 6, 0}, {[]string{"-bias"}, 12, 6},
		{[]string{"-bias", "-kernels=false"}, 12, 6},
	} {
		text := dot(t, c.flags...)
		if boxes, biases := strings.Count(text, parameter), strings.Count(text, `"bias\n`); boxes != c.boxes ||
			biases != c.biases {
			t.Errorf(
				"%q: got %d parameters, %d of them biases, want %d and %d", c.flags, boxes, biases, c.boxes, c.biases,
			)
		}
	}
}

// TestReadme checks that the README's picture of a block has as many parameters as the trained model's block, and that
// the README names the command that draws it.
func TestReadme(t *testing.T) {
	root := filepath.Join("..", "..")
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "go run ./examples/graph -dot h.0 | dot -Tpng > " +
		".readme/block.png"; !bytes.Contains(readme, []byte(want)) {
		t.Errorf("README.md does not say %q", want)
	}
	f, err := os.Open(filepath.Join(root, ".readme", "block.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := areas(picture, color.RGBA{0xdb, 0xe7, 0xf5, 255}), strings.Count(dot(t), parameter); got != want {
		t.Errorf("block.png has %d boxes of parameters, the model %d: draw it again", got, want)
	}
}

// areas returns the number of connected areas of a color with at least 500 pixels: boxes, but not the insides of
// letters.
func areas(m image.Image, c color.RGBA) (n int) {
	left := map[image.Point]bool{}
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			if color.RGBAModel.Convert(m.At(x, y)) == c {
				left[image.Pt(x, y)] = true
			}
		}
	}
	for p := range left {
		size := 0
		for next := []image.Point{p}; len(next) > 0; {
			p, next = next[len(next)-1], next[:len(next)-1]
			if !left[p] {
				continue
			}
			delete(left, p)
			size++
			next = append(
				next, p.Add(image.Pt(1, 0)), p.Add(image.Pt(-1, 0)), p.Add(image.Pt(0, 1)), p.Add(image.Pt(0, -1)),
			)
		}
		if size >= 500 {
			n++
		}
	}
	return n
}
