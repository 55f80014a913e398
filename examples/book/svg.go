package main

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

type values64 = hand.Matrix[float64]

// heat is a matrix with a number in each cell. Blue is positive and orange is negative, in proportion to the largest
// absolute value of all matrices in the picture. NaN and −∞ are empty.
type heat struct {
	title   string
	m       values64
	rows    []string
	columns []string
	digits  int
}

// heats draws matrices side by side, or below one another on a narrow page.
func heats(list ...heat) string {
	var largest float64
	for _, h := range list {
		for _, v := range h.m.Data {
			if !math.IsInf(v, 0) && !math.IsNaN(v) {
				largest = max(largest, math.Abs(v))
			}
		}
	}
	var b strings.Builder
	b.WriteString(`<div class="heats">`)
	for _, h := range list {
		b.WriteString(h.draw(largest))
	}
	return b.String() + "</div>"
}

// draw draws a matrix. The darkest cell would have the value largest.
func (h heat) draw(largest float64) string {
	const cell, high, title, label = 46, 26, 22, 16
	left, top := 2, title
	for _, s := range h.rows {
		left = max(left, 8*len([]rune(s))+8)
	}
	if len(h.columns) > 0 {
		top += label
	}
	var b strings.Builder
	text := func(x, y int, anchor, class, s string) {
		fmt.Fprintf(&b, `<text class="%s" x="%d" y="%d" text-anchor="%s">%s</text>`, class, x, y, anchor,
			html.EscapeString(s))
	}
	text(left, 14, "start", "title", h.title)
	for j, s := range h.columns {
		text(left+j*cell+cell/2, title+10, "middle", "label", s)
	}
	for i := range h.m.Rows {
		y := top + i*high
		if i < len(h.rows) {
			text(left-6, y+high/2+4, "end", "label", h.rows[i])
		}
		for j := range h.m.Cols {
			x, v := left+j*cell, h.m.At(i, j)
			rectangle := func(class string, opacity float64) {
				fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" opacity="%.2f"/>`, class, x, y, cell,
					high, opacity)
			}
			rectangle("cell", 1)
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			tone := "positive"
			if v < 0 {
				tone = "negative"
			}
			if largest > 0 {
				rectangle(tone, 0.65*math.Abs(v)/largest)
			}
			text(x+cell/2, y+high/2+4, "middle", "value", signed(v, h.digits))
		}
	}
	return picture(max(left+h.m.Cols*cell, left+8*len([]rune(h.title)))+2, top+h.m.Rows*high+4, b.String())
}

// signed returns a number with a true minus sign.
func signed(v float64, digits int) string {
	return strings.Replace(fmt.Sprintf("%.*f", digits, v), "-", "−", 1)
}

// picture returns an SVG that shrinks on a narrow page and does not grow on a wide one. A wide picture scrolls.
func picture(width, height int, content string) string {
	return fmt.Sprintf(`<div class="scroll"><svg viewBox="0 0 %d %d" style="width:%dpx" role="img">%s</svg></div>`,
		width, height, width, content)
}

// curve is a line of a chart.
type curve struct {
	name string
	x, y []float64
}

// chart draws curves with axes. The legend stands beside the right ends of the curves.
func chart(xName, yName string, list ...curve) string {
	const width, height, left, right, top, bottom = 640, 280, 60, 150, 14, 40
	lowX, highX, lowY, highY := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, c := range list {
		for i := range c.x {
			lowX, highX = min(lowX, c.x[i]), max(highX, c.x[i])
			lowY, highY = min(lowY, c.y[i]), max(highY, c.y[i])
		}
	}
	if highY == lowY {
		lowY, highY = lowY-1, highY+1
	}
	px := func(x float64) float64 { return left + (x-lowX)/(highX-lowX)*(width-left-right) }
	py := func(y float64) float64 { return height - bottom - (y-lowY)/(highY-lowY)*(height-top-bottom) }
	var b strings.Builder
	text := func(class string, x, y float64, anchor, s string) {
		fmt.Fprintf(&b, `<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, class, x, y, anchor,
			html.EscapeString(s))
	}
	for _, v := range ticks(lowY, highY) {
		fmt.Fprintf(&b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`, left, width-right, py(v), py(v))
		text("label", left-6, py(v)+4, "end", tick(v))
	}
	for _, v := range ticks(lowX, highX) {
		text("label", px(v), height-bottom+16, "middle", tick(v))
	}
	text("label", (left+width-right)/2, height-6, "middle", xName)
	fmt.Fprintf(&b, `<text transform="translate(14,%d) rotate(-90)" text-anchor="middle">%s</text>`,
		(top+height-bottom)/2, html.EscapeString(yName))
	var at []float64
	for i, c := range list {
		var points strings.Builder
		for j := range c.x {
			fmt.Fprintf(&points, "%.1f,%.1f ", px(c.x[j]), py(c.y[j]))
		}
		fmt.Fprintf(&b, `<polyline class="curve c%d" points="%s"/>`, i%6, points.String())
		y := py(c.y[len(c.y)-1])
		for moved := true; moved; {
			moved = false
			for _, other := range at {
				if math.Abs(other-y) < 15 {
					y, moved = other+15, true
				}
			}
		}
		at = append(at, y)
		text(fmt.Sprintf("name t%d", i%6), width-right+8, y+4, "start", c.name)
	}
	return picture(width, height, b.String())
}

// ticks returns four to nine round numbers within the ends.
func ticks(low, high float64) (list []float64) {
	step := math.Pow(10, math.Floor(math.Log10(high-low)))
	for _, part := range []float64{1, 2, 5} {
		if (high-low)/(step/part) >= 4 {
			step /= part
			break
		}
	}
	for v := math.Ceil(low/step) * step; v <= high+step/1e6; v += step {
		list = append(list, v)
	}
	return list
}

func tick(v float64) string {
	if math.Abs(v) < 1e-9 {
		return "0"
	}
	return strings.Replace(strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.4f", v), "0"), "."), "-", "−", 1)
}

// table returns an HTML table whose first row is the head.
func table(rows ...[]string) string {
	var b strings.Builder
	b.WriteString(`<div class="scroll"><table>`)
	for i, row := range rows {
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		b.WriteString("<tr>")
		for _, s := range row {
			fmt.Fprintf(&b, "<%s>%s</%s>", tag, s, tag)
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</table></div>")
	return b.String()
}
