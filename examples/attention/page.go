package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"math"

	"github.com/pkg/errors"
)

//go:embed page.html
var page string

// writePage makes a page that needs nothing else: the weights are in it, and are drawn where it is shown.
func writePage(w io.Writer, tokens []string, layers []layer) error {
	t, err := template.New("page").Parse(page)
	if err != nil {
		return errors.Wrap(err, "page.html")
	}
	colors, err := shades()
	if err != nil {
		return err
	}
	data := struct {
		Tokens []string
		Colors []string
		Layers []layer
	}{Tokens: tokens}
	for _, c := range colors {
		rgba := color.RGBAModel.Convert(c).(color.RGBA)
		data.Colors = append(data.Colors, fmt.Sprintf("#%02x%02x%02x", rgba.R, rgba.G, rgba.B))
	}
	for _, l := range layers {
		short := layer{Name: l.Name}
		for _, a := range l.Heads {
			short.Heads = append(short.Heads, rounded(a))
		}
		data.Layers = append(data.Layers, short)
	}
	return t.Execute(w, data)
}

// rounded keeps five digits behind the point.
func rounded(a matrix) matrix {
	b := make(matrix, len(a))
	for i, row := range a {
		for _, v := range row {
			b[i] = append(b[i], math.Round(v*1e5)/1e5)
		}
	}
	return b
}
