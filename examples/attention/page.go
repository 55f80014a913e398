package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"strconv"

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
		Tokens, Seen []string // as they are, and so that one can see them
		Colors       []string
		Masked       string
		Scale        []float64
		Layers       []layer
	}{Tokens: tokens, Masked: css(masked()), Scale: scale()}
	for _, t := range tokens {
		data.Seen = append(data.Seen, string(visible(t)))
	}
	for _, c := range colors {
		data.Colors = append(data.Colors, css(c))
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

func css(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// rounded keeps four digits of every weight, so that none that is small becomes 0, which says masked.
func rounded(a matrix) matrix {
	b := make(matrix, len(a))
	for i, row := range a {
		for _, v := range row {
			short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64) // of a number there is no error
			b[i] = append(b[i], short)
		}
	}
	return b
}
