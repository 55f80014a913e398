package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/picture"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"gonum.org/v1/plot/plotter"
)

// picture plots and counts the pixels of every colour in the area of the curves, left of the legend.
func drawing(
	t *testing.T, steps []program.StepLine, evals []program.EvalLine, floor float64,
) (image.Image, map[color.RGBA]int) {
	t.Helper()
	var b bytes.Buffer
	batches, train, val := plotter.XYs{}, plotter.XYs{}, plotter.XYs{}
	for _, s := range steps {
		batches = append(batches, plotter.XY{X: float64(s.Step), Y: s.Loss})
	}
	for _, e := range evals {
		train = append(train, plotter.XY{X: float64(e.Step), Y: e.Train})
		val = append(val, plotter.XY{X: float64(e.Step), Y: e.Val})
	}
	if err := picture.Losses(&b, "loss", batches, train, val, floor); err != nil {
		t.Fatal(err)
	}
	p, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[color.RGBA]int{}
	for y := range p.Bounds().Dy() {
		for x := range p.Bounds().Dx() * 85 / 100 {
			counts[color.RGBAModel.Convert(p.At(x, y)).(color.RGBA)]++
		}
	}
	return p, counts
}

// Both curves are visible with a single evaluation, and where they coincide; the batches' curve is behind them.
func TestBothCurvesAreSeen(t *testing.T) {
	train, val, paper := color.RGBA{19, 92, 150, 255}, color.RGBA{214, 69, 37, 255}, color.RGBA{255, 255, 255, 255}
	_, one := drawing(t, nil, []program.EvalLine{{Step: 20, Train: 4, Val: 3}}, 0)
	if one[train] < 50 || one[val] < 40 {
		t.Errorf("one evaluation: %d pixels of train, %d of val", one[train], one[val])
	}
	same := []program.EvalLine{{Step: 0, Train: 4, Val: 4}, {Step: 100, Train: 3, Val: 3}}
	_, both := drawing(t, nil, same, 0)
	if both[train] < 450 || both[val] < 500 {
		t.Errorf("one on the other: %d pixels of train, %d of val", both[train], both[val])
	}
	_, over := drawing(t, []program.StepLine{{Step: 0, Loss: 3}, {Step: 100, Loss: 4}}, same, 0)
	if over[train] < both[train]*9/10 || over[val] < both[val]*9/10 || over[paper] >= both[paper] {
		t.Errorf("over the batches': %d pixels of train, %d of val, %d of paper", over[train], over[val], over[paper])
	}
	if _, floor := drawing(t, nil, same, 1.5); floor[color.RGBA{90, 90, 90, 255}] < 100 {
		t.Error("the text's own entropy is not seen")
	}
}

// The legend covers nothing: the pixels next to it do not depend on the losses.
func TestLegendIsBeside(t *testing.T) {
	down, _ := drawing(
		t, []program.StepLine{{Step: 1, Loss: 4}},
		[]program.EvalLine{{Step: 0, Train: 4, Val: 4}, {Step: 100, Train: 2, Val: 2}}, 0,
	)
	up, _ := drawing(
		t, []program.StepLine{{Step: 1, Loss: 4}},
		[]program.EvalLine{{Step: 0, Train: 2, Val: 2}, {Step: 100, Train: 4, Val: 4}}, 0,
	)
	curves, left := 0, down.Bounds().Dx()*85/100
	for y := range down.Bounds().Dy() {
		for x := range down.Bounds().Dx() {
			if differ := down.At(x, y) != up.At(x, y); differ && x >= left {
				t.Fatalf("pixel (%d, %d): %v and %v", x, y, down.At(x, y), up.At(x, y))
			} else if differ {
				curves++
			}
		}
	}
	if curves < 1000 {
		t.Errorf("the pictures differ in %d pixels", curves)
	}
}

// Evaluations print each number once and fit 80 columns, whatever is measured beside the losses.
func TestEvaluationLine(t *testing.T) {
	var out bytes.Buffer
	r := &report{Log: &program.Log{Bar: program.NewBar(&out, "", 0, 9)}, unit: "character", bytes: 1}
	e := gpt.Evaluation{Train: 2.0987, Val: 2.1683}
	r.line(12000, e, 0)
	r.curvature, e.ValEMA = &inspect.Curvature{}, 2.1234
	r.line(12000, e, 123.4)
	want := "step 12000: train loss 2.0987, val loss 2.1683, 3.1282 bits per byte\n" +
		"step 12000: train loss 2.0987, val loss 2.1683, 3.1282 bits per byte\n  curvature 123.4, averaged weights " +
		"2.1234\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 81 {
			t.Errorf("%q has more than 80 columns", line)
		}
	}
}
