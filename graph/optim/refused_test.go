package optim

import (
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// quadratic returns the program of Σ w² with its gradient, run once if ran is set.
func quadratic(t *testing.T, ran bool) (w graph.Expr, p *graph.Program) {
	t.Helper()
	w = graph.New(graph.Float64, 1).Root().Param("w", graph.Const(2), 3)
	p, err := graph.Compile(w.Square().SumAll(), w)
	if err == nil && ran {
		err = p.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	return w, p
}

// Settings that would produce NaN, or have no effect, are an error before anything changes.
func TestSettingsAreRefused(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		adam AdamW // zero fields stand for the defaults
		sgd  SGD
		lr   float64
		want string
	}{
		{lr: nan, want: "learning rate: got NaN, want a number, x ≥ 0"},
		{lr: -0.1, want: "learning rate: got -0.1, want a number, x ≥ 0"},
		{lr: inf, want: "learning rate: got +Inf, want a number, x ≥ 0"},
		{adam: AdamW{Beta1: 1}, sgd: SGD{Momentum: 1}, want: "got 1, want a number, 0 ≤ x < 1"},
		{adam: AdamW{Beta1: -0.1}, sgd: SGD{Momentum: -0.1}, want: "got -0.1, want a number, 0 ≤ x < 1"},
		{adam: AdamW{Beta2: 1}, sgd: SGD{Momentum: nan}, want: ", 0 ≤ x < 1"},
		{adam: AdamW{Beta2: nan}, sgd: SGD{Momentum: 2}, want: ", 0 ≤ x < 1"},
		{adam: AdamW{Eps: -1e-8}, sgd: SGD{Decay: -1}, want: ", x "},
		{adam: AdamW{Eps: nan}, sgd: SGD{Decay: nan}, want: "got NaN"},
		{adam: AdamW{Decay: -1}, sgd: SGD{Decay: -1}, want: "decay: got -1, want a number, x ≥ 0"},
		{adam: AdamW{Decay: nan}, sgd: SGD{Decay: inf}, want: "decay: got "},
		{adam: AdamW{Clip: -1}, sgd: SGD{Clip: nan}, want: "clip: got "},
		{adam: AdamW{Steps: -1}, sgd: SGD{Steps: -1}, want: "steps: got -1"},
		{want: ""},
	} {
		w, p := quadratic(t, true)
		a, err := NewAdamW([]graph.Expr{w})
		if err != nil || a.Beta1 != 0.9 || a.Beta2 != 0.999 || a.Eps != 1e-8 {
			t.Fatalf("got %+v, %v", a, err)
		}
		for _, f := range []struct{ to, from *float64 }{{&a.Beta1, &c.adam.Beta1}, {&a.Beta2, &c.adam.Beta2}, {&a.Eps, &c.adam.Eps}} {
			if *f.from != 0 {
				*f.to = *f.from
			}
		}
		a.Decay, a.Clip, a.Steps = c.adam.Decay, c.adam.Clip, c.adam.Steps
		s, err := NewSGD([]graph.Expr{w})
		if err != nil {
			t.Fatal(err)
		}
		s.Momentum, s.Decay, s.Clip, s.Steps = c.sgd.Momentum, c.sgd.Decay, c.sgd.Clip, c.sgd.Steps
		if c.lr == 0 {
			c.lr = 0.1
		}
		for name, o := range map[string]Optimizer{"adamw: ": a, "sgd: ": s} {
			before := w.Tensor().At(0)
			_, err := o.Update(p, c.lr)
			switch changed := w.Tensor().At(0) != before; {
			case c.want == "":
				if err != nil || !changed {
					t.Errorf("%sright settings: got error %v, changed %t", name, err, changed)
				}
			case err == nil || !strings.HasPrefix(err.Error(), name) || !strings.Contains(err.Error(), c.want) ||
				changed:
				t.Errorf("%sgot error %v, changed %t, want %s", name, err, changed, c.want)
			}
		}
	}
	w, p := quadratic(t, true)
	a, _ := NewAdamW([]graph.Expr{w})
	if a.Eps = 0; true {
		if _, err := a.Update(p, 0.1); err == nil {
			t.Error("eps 0 was accepted")
		}
	}
}

// A literal has nothing to update; a value or a parameter of another graph is an error, and so is a program that has
// not run and has no gradient.
func TestOptimizersOfNothing(t *testing.T) {
	w, p := quadratic(t, false)
	g := w.Graph()
	fed := g.Root().Value("fed", graph.Const(1), 3)
	other, _ := quadratic(t, false)
	gradients, err := NewGradients("mine", []graph.Expr{w})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Optimizer{&AdamW{}, &AdamW{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8}, &AdamW{Gradients: gradients},
		(*AdamW)(nil), &SGD{}, &SGD{Gradients: gradients}, (*SGD)(nil)} {
		if _, err := o.Update(p, 0.1); err == nil ||
			!strings.Contains(err.Error(), "no parameters: create it with New") {
			t.Errorf("%T: got error %v", o, err)
		}
		o.Moments(func(string, graph.Tensor, graph.Tensor) { t.Errorf("%T has moments", o) })
	}
	sgd, _ := NewSGD([]graph.Expr{w})
	adamw, _ := NewAdamW([]graph.Expr{w})
	for _, o := range []Optimizer{sgd, adamw} {
		o.Moments(nil) // calls nothing
	}
	for want, list := range map[string][]graph.Expr{
		"adamw: fed is a value, not a parameter, or listed twice": {w, fed},
		"adamw: w is a value, not a parameter, or listed twice":   {w, w},
		"adamw: w and w belong to different graphs":               {w, other},
		"adamw: a parameter is empty":                             {w, w.Square()},
		"adamw: no parameters":                                    nil,
	} {
		if _, err := NewAdamW(list); err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
	o, err := NewAdamW([]graph.Expr{w})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*graph.Program{p, nil, {}} {
		if _, err := o.Update(p, 0.1); err == nil ||
			!strings.Contains(err.Error(), "w has 3 entries, but its gradient has 0") {
			t.Errorf("no run: got error %v", err)
		}
		if err := o.Accumulate(p); err == nil {
			t.Error("what has not run is accumulated")
		}
	}
	if w.Tensor().At(0) != 2 || o.Steps != 0 {
		t.Errorf("w is %v after %d steps", w.Tensor().At(0), o.Steps)
	}
}
