package picture

import (
	"image/color"
	"testing"

	"gonum.org/v1/plot/vg/draw"
)

// The digits of 11 do not touch: a column of white pixels separates them in every size that pictures use.
func TestDigitsAreSeparate(t *testing.T) {
	for size := 9.0; size <= 16; size++ {
		s := NewSheet(60, 30)
		s.Write(10, 15, size, draw.XLeft, "11")
		strokes, inside := 0, false
		for x := range 60 {
			dark := false
			for y := range 30 {
				dark = dark || color.GrayModel.Convert(s.At(x, y)).(color.Gray).Y < 200
			}
			if dark && !inside {
				strokes++
			}
			inside = dark
		}
		if strokes < 2 {
			t.Errorf("size %v: got %d groups of dark columns in 11, want 2", size, strokes)
		}
		if got, want := Width(size, "h.11"), Width(size, "h.")+2*Width(size, "1"); got < want-2 {
			t.Errorf("size %v: h.11 is %d wide, want at least %d", size, got, want-2)
		}
	}
}
