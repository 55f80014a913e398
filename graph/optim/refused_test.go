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

// Settings of a rule that would produce NaN are an error of New.
func TestRulesAreRefused(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	w, _ := quadratic(t, false)
	for want, rules := range map[string][]Rule{
		"adamw: beta1: got 1, want a number, 0 ≤ x < 1":      {AdamW{Beta1: 1}},
		"adamw: beta1: got -0.1, want a number, 0 ≤ x < 1":   {AdamW{Beta1: -0.1}},
		"adamw: beta2: got NaN, want a number, 0 ≤ x < 1":    {AdamW{Beta2: nan}},
		"adamw: eps: got -1e-08, want a number, x ≥ 0":       {AdamW{Eps: -1e-8}},
		"adamw: eps: got NaN, want a number, x ≥ 0":          {AdamW{Eps: nan}},
		"adamw: eps: got +Inf, want a number, x ≥ 0":         {AdamW{Eps: inf}},
		"sgd: momentum: got 1, want a number, 0 ≤ x < 1":     {SGD{Momentum: 1}},
		"sgd: momentum: got -0.1, want a number, 0 ≤ x < 1":  {SGD{Momentum: -0.1}},
		"sgd: momentum: got NaN, want a number, 0 ≤ x < 1":   {SGD{Momentum: nan}},
		"lion: beta1: got 1, want a number, 0 ≤ x < 1":       {Lion{Beta1: 1}},
		"lion: beta2: got NaN, want a number, 0 ≤ x < 1":     {Lion{Beta2: nan}},
		"schedule_free: beta1: got 1, want a number":         {ScheduleFree{Beta1: 1}},
		"schedule_free: beta2: got -1, want a number":        {ScheduleFree{Beta2: -1}},
		"schedule_free: eps: got NaN, want a number, x ≥ 0":  {ScheduleFree{Eps: nan}},
		"schedule_free: warmup: got -1, want a number":       {ScheduleFree{Warmup: -1}},
		"two: group 0, schedule_free: averages all weights":  {Groups{"two", []Group{{Rule: ScheduleFree{}}}}},
		"muon: momentum: got 1, want a number, 0 ≤ x < 1":    {Muon{Momentum: 1}},
		"muon: steps: got -1, want 0 to 100":                 {Muon{Steps: -1}},
		"muon: steps: got 101, want 0 to 100":                {Muon{Steps: 101}},
		`muon: scale: got "mine", want rms or spectral`:      {Muon{Scale: "mine"}},
		"muon: w has shape [3], want a matrix":               {Muon{}},
		"soap: beta1: got 1, want a number, 0 ≤ x < 1":       {SOAP{Beta1: 1}},
		"soap: beta2: got -1, want a number, 0 ≤ x < 1":      {SOAP{Beta2: -1}},
		"soap: eps: got NaN, want a number, x ≥ 0":           {SOAP{Eps: nan}},
		"soap: shampoo_beta: got 1, want a number":           {SOAP{ShampooBeta: 1}},
		"soap: precondition_frequency: got -1, want":         {SOAP{Frequency: -1}},
		"soap: max_precond_dim: got -1, want a number":       {SOAP{MaxDim: -1}},
		"soap: w has shape [3], want a matrix":               {SOAP{}},
		"mine: further tensors: want Whole, because":         {fixed{State{Name: "mine", Further: keeps("a", 1)}}},
		`mine: w: further tensors: got the name "m", want`:   {further("m", 1)},
		`mine: w: further tensors: got the name "a.b", want`: {further("a.b", 1)},
		`mine: w: further tensors: got the name "", want`:    {further("", 1)},
		"mine: w: further tensors: a: got shape [2 0], want": {further("a", 2, 0)},
		"mine: w: further tensors: a: got shape [], want":    {further("a")},
		"two: group 1, sgd: momentum: got 1, want a number": {
			Groups{"two", []Group{{Rule: AdamW{}}, {Rule: SGD{Momentum: 1}}}},
		},
		"two: group 0: got no rule (nil)":                {Groups{"two", []Group{{}}}},
		`two: group 0, sgd: names: got "[", want a name`: {Groups{"two", []Group{{Names: []string{"["}, Rule: SGD{}}}}},
		"two: w of shape [3] belongs to no group": {
			Groups{"two", []Group{{Matrices: true, Rule: SGD{}}}}, Groups{Name: "two"},
		},
		"two: muon: w has shape [3], want a matrix": {
			Groups{"two", []Group{{Names: []string{"?"}, Rule: Muon{}}}},
		},
		"optimizer: got no rule (nil), want one such as": {nil},
		"mine: got 3 moments, want 0 to 2":               {fixed{State{Name: "mine", Moments: 3}}},
		"mine: got -1 moments, want 0 to 2":              {fixed{State{Name: "mine", Moments: -1}}},
	} {
		for _, rule := range rules {
			if o, err := New([]graph.Expr{w}, rule); o != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%+v: got %v and error %v, want %s", rule, o, err, want)
			}
		}
	}
}

// keeps is a State.Further of one tensor.
func keeps(name string, shape ...int) func(shape, columns []int) []Kept {
	return func([]int, []int) []Kept { return []Kept{{name, shape}} }
}

func further(name string, shape ...int) Rule {
	return fixed{State{Name: "mine", Whole: true, Further: keeps(name, shape...)}}
}

// fixed is a rule that changes nothing.
type fixed struct{ state State }

func (f fixed) State() (State, error) { return f.state, nil }
func (fixed) Step(Step)               {}

// Settings of an Optimizer that would produce NaN, or have no effect, are an error before anything changes.
func TestSettingsAreRefused(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		lr, decay, clip float64
		steps           int
		want            string
	}{
		{lr: nan, want: "sgd: learning rate: got NaN, want a number, x ≥ 0"},
		{lr: -0.1, want: "sgd: learning rate: got -0.1, want a number, x ≥ 0"},
		{lr: inf, want: "sgd: learning rate: got +Inf, want a number, x ≥ 0"},
		{lr: 1, decay: -1, want: "sgd: decay: got -1, want a number, x ≥ 0"},
		{lr: 1, decay: nan, want: "sgd: decay: got NaN"},
		{lr: 1, decay: inf, want: "sgd: decay: got +Inf"},
		{lr: 1, clip: -1, want: "sgd: clip: got -1"},
		{lr: 1, clip: nan, want: "sgd: clip: got NaN"},
		{lr: 1, steps: -1, want: "sgd: steps: got -1"},
		{lr: 1, decay: 0.1, clip: 2, steps: 3},
	} {
		w, p := quadratic(t, true)
		o, err := New([]graph.Expr{w}, SGD{})
		if err != nil {
			t.Fatal(err)
		}
		o.Decay, o.Clip, o.Steps = c.decay, c.clip, c.steps
		_, err = o.Update(p, c.lr)
		switch changed := w.Tensor().At(0) != 2; {
		case c.want == "":
			if err != nil || !changed {
				t.Errorf("right settings: got error %v, changed %t", err, changed)
			}
		case err == nil || !strings.HasPrefix(err.Error(), c.want) || changed:
			t.Errorf("got error %v, changed %t, want %s", err, changed, c.want)
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
	for _, o := range []*Optimizer{{}, nil} {
		if _, err := o.Update(p, 0.1); err == nil ||
			!strings.Contains(err.Error(), "no parameters: create it with New") {
			t.Errorf("got error %v", err)
		}
		if err := o.Shard(p); err == nil {
			t.Error("sharded an optimizer of nothing")
		}
		o.Moments(func(string, string, graph.Tensor) { t.Error("moments of nothing") })
	}
	for want, list := range map[string][]graph.Expr{
		"adamw: fed is a value, not a parameter, or listed twice": {w, fed},
		"adamw: w is a value, not a parameter, or listed twice":   {w, w},
		"adamw: w and w belong to different graphs":               {w, other},
		"adamw: a parameter is empty":                             {w, w.Square()},
		"adamw: no parameters":                                    nil,
	} {
		if _, err := New(list, AdamW{}); err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
	o, err := New([]graph.Expr{w}, AdamW{})
	if err != nil {
		t.Fatal(err)
	}
	o.Moments(nil) // calls nothing
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
