package verdict

import (
	"html/template"
	"io"
	"math"
)

// writePage writes the report as one page of HTML, which needs no network.
func (r *Report) writePage(w io.Writer) error {
	t, err := template.New("page").Funcs(functions()).Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, r)
}

// forest is a picture of the differences of the losses, with their intervals.
type forest struct {
	Zero, Height float64
	Lines        []line
	Ticks        []tick
}

type line struct {
	Y, Low, High, Mean float64
	Label, Number      string
	Class              string
}

type tick struct {
	X     float64
	Label string
}

// The sizes of the picture.
const left, width, step = 270.0, 420.0, 26.0

// forest places the differences.
func (r *Report) forest() *forest {
	widest := 0.0
	for _, l := range r.Losses {
		if l.Judged != nil {
			widest = max(widest, math.Abs(bounded(l.Judged.Low, l.Compared.Mean)),
				math.Abs(bounded(l.Judged.High, l.Compared.Mean)), math.Abs(l.Compared.Mean))
		}
	}
	if widest == 0 {
		return nil
	}
	unit := math.Pow(10, math.Floor(math.Log10(widest)))
	widest = unit * math.Ceil(widest/unit) // one digit
	x := func(v float64) float64 { return left + width/2*(1+max(-1, min(1, v/widest))) }
	f := &forest{Zero: x(0)}
	for _, l := range r.Losses {
		if l.Judged == nil {
			continue
		}
		y := step * float64(len(f.Lines)+1)
		f.Lines = append(f.Lines, line{
			Y: y, Low: x(l.Judged.Low), High: x(l.Judged.High), Mean: x(l.Compared.Mean),
			Label: l.Size.String() + ", equal " + string(l.Budget), Number: number(l.Compared.Mean),
			Class: classes()[l.Judged.Verdict],
		})
	}
	f.Height = step * float64(len(f.Lines)+2)
	for _, share := range []float64{-1, -0.5, 0, 0.5, 1} {
		f.Ticks = append(f.Ticks, tick{x(share * widest), number(share * widest)})
	}
	return f
}

// bounded returns an end of an interval, at most five times as far from 0 as the mean: the intervals of few seeds are
// wide.
func bounded(end, mean float64) float64 {
	limit := 5*math.Abs(mean) + 1e-3
	return max(-limit, min(limit, end))
}
