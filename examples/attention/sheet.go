package main

import (
	"image/color"
	"math"

	"github.com/pedestrian-ml/pedestrian/examples/internal/picture"
	"gonum.org/v1/plot/palette/moreland"
)

// shades returns colours from almost no weight to full weight, evenly spaced in lightness.
func shades() (list [256]color.RGBA, err error) {
	scale, err := moreland.NewLuminance([]color.Color{
		color.RGBA{28, 12, 66, 255}, color.RGBA{124, 28, 109, 255}, color.RGBA{222, 84, 62, 255},
		color.RGBA{252, 186, 88, 255}, color.RGBA{255, 250, 238, 255},
	})
	if err != nil {
		return list, err
	}
	scale.SetMax(1)
	for i := range list {
		c, err := scale.At(1 - float64(i)/255)
		if err != nil {
			return list, err
		}
		list[i] = color.RGBAModel.Convert(c).(color.RGBA)
	}
	return list, nil
}

// masked returns the colour of a weight of exactly 0, which differs from all shades.
func masked() color.RGBA { return color.RGBA{196, 210, 226, 255} }

// shade returns the index of a weight's shade: its square root, so that small weights are visible too.
func shade(weight float64) int { return int(math.Round(255 * math.Sqrt(min(1, max(0, weight))))) }

// sheet is a picture in the shades.
type sheet struct {
	*picture.Sheet
	colors [256]color.RGBA
}

func newSheet(width, height int) (s sheet, err error) {
	s.Sheet = picture.NewSheet(width, height)
	s.colors, err = shades()
	return s, err
}
