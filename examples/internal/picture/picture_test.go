package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"
)

// TestEncode: a picture of 256 colours is kept as it is, and of more colours each pixel is near its own.
func TestEncode(t *testing.T) {
	for _, tc := range []struct {
		colours int
		step    float64 // of green from one colour to the next
	}{{1, 0}, {3, 97}, {256, 1}, {3 * 256, 1}} {
		m := image.NewNRGBA(image.Rect(3, 5, 3+40, 5+50))
		paint := func(i int) color.NRGBA {
			k := i % tc.colours
			return color.NRGBA{uint8(40 * (k / 256)), uint8(float64(k%256) * tc.step), 7, 255}
		}
		for i := range 40 * 50 {
			m.SetNRGBA(3+i%40, 5+i/40, paint(i))
		}
		var b bytes.Buffer
		if err := encode(&b, m); err != nil {
			t.Fatal(err)
		}
		got, err := png.Decode(&b)
		if err != nil || got.Bounds().Size() != m.Bounds().Size() {
			t.Fatalf("%d colours: got %v (%v), want 40×50 pixels", tc.colours, got.Bounds(), err)
		}
		near := 0
		if tc.colours > 256 {
			near = 80
		}
		for i := range 40 * 50 {
			c := color.NRGBAModel.Convert(got.At(i%40, i/40)).(color.NRGBA)
			want := paint(i)
			far := max(int(c.R)-int(want.R), int(want.R)-int(c.R)) + max(int(c.G)-int(want.G), int(want.G)-int(c.G))
			if far > near || c.B != 7 || c.A != 255 {
				t.Fatalf("%d colours: pixel %d is %v, want %v", tc.colours, i, c, want)
			}
		}
	}
}
