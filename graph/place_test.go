package graph

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// squares returns (w²)², with a place in between, in two blocks.
func squares(g *Graph) Expr {
	x := g.Root().Param("w", Const(3), 1, 2)
	for _, block := range []string{"h.0", "h.1"} {
		at := g.Root().Sub("%s", block)
		x = at.Place("mlp", x.In(at).Square())
	}
	return x
}

func TestPlaces(t *testing.T) {
	g := New(Float64, 1)
	out := squares(g)
	for _, tc := range []struct {
		patterns, want []string
	}{
		{nil, []string{"h.0.mlp", "h.1.mlp"}},
		{[]string{"h.*.mlp"}, []string{"h.0.mlp", "h.1.mlp"}},
		{[]string{"*.1.mlp", "h.0.mlp", "h.0.*"}, []string{"h.0.mlp", "h.1.mlp"}},
	} {
		if got, err := g.Places(tc.patterns...); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%q: got %q (%v), want %q", tc.patterns, got, err, tc.want)
		}
	}
	for _, pattern := range []string{"h.*", "h.2.mlp", "*"} {
		_, err := g.Places("h.0.mlp", pattern)
		if err == nil || !strings.Contains(err.Error(), `"`+pattern+`": the nearest of 2 places are "h.0.mlp"`) {
			t.Errorf("%s: got the error %v, want it to list the nearest", pattern, err)
		}
	}
	if x, err := g.Activation("h.1.mlp"); err != nil || x.Node() != out.Node() {
		t.Errorf("got another activation than the one that was placed (%v)", err)
	}
}

// One run keeps the requested values, each as it was at its place, and does not compute others.
func TestCompileWith(t *testing.T) {
	g := New(Float64, 1)
	out := squares(g)
	first, err := g.Activation("h.0.mlp")
	if err != nil {
		t.Fatal(err)
	}
	p, err := CompileWith(out.SumAll(), []Expr{first, out, first}, first)
	if err != nil {
		t.Fatal(err)
	}
	if p.Kept(first).Len() != 0 {
		t.Error("there is a value before the first run")
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		got  Tensor
		want []float64
	}{
		"kept": {p.Kept(first), []float64{9, 9}}, "and behind it": {p.Kept(out), []float64{81, 81}},
		"the output": {p.Value(), []float64{162}}, "the gradient": {p.Grad(first), []float64{18, 18}},
		"not requested": {p.Kept(g.Params()[0]), nil},
	} {
		if !slices.Equal(tc.got.F64, tc.want) {
			t.Errorf("%s: got %v, want %v", name, tc.got.F64, tc.want)
		}
	}
	if _, err := CompileWith(out, []Expr{squares(New(Float64, 1))}); err == nil ||
		!strings.Contains(err.Error(), "another graph") {
		t.Errorf("keeping an expression of another graph: got the error %v", err)
	}
}

// Edits are applied in order, also on siblings, once each if a graph is built again, and they are differentiated
// through. Edits added to a sibling apply only there.
func TestEdit(t *testing.T) {
	g := New(Float64, 1)
	g.Edit("h.0.mlp", func(x Expr) Expr { return x.Shift(1) })
	s := g.Sibling()
	s.Edit("h.0.mlp", func(x Expr) Expr { return x.Scale(2) })
	tries := 0
	again, err := g.BuildSibling(func(g *Graph) error {
		g.Edit("h.0.mlp", func(x Expr) Expr { return x.Scale(3) })
		if tries++; tries < 3 {
			return errCollision
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		g          *Graph
		out, slope float64
	}{
		"one":         {g, 100, 2 * 10 * 6},
		"two":         {s, 400, 2 * 20 * 12},
		"built again": {again, 900, 2 * 30 * 18},
		"none":        {New(Float64, 1), 81, 2 * 9 * 6},
	} {
		out := squares(tc.g)
		w := tc.g.Params()[0]
		p, err := Compile(out.SumAll(), w)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if p.Loss() != 2*tc.out || p.Grad(w).At(1) != tc.slope {
			t.Errorf("%s: got %v with slope %v, want %v with %v", name, p.Loss(), p.Grad(w).At(1), 2*tc.out, tc.slope)
		}
	}
	if !s.Edited() || New(Float64, 1).Edited() {
		t.Error("Edited does not report the edited graph")
	}
}

// scale∘x + shift is exact in the documented cases, and the gradient is scale's.
func TestMulAdd(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(0), 2, 3)
	copy(x.Tensor().F64, []float64{math.Copysign(0, -1), math.NaN(), 3, 4, math.Inf(1), 6})
	y := x.MulAdd([]float64{1, 0, 2}, []float64{0, 7, 0, 1, 8, -1})
	p, err := CompileWith(y.SumAll(), []Expr{y}, x)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if got := p.Kept(y).F64; !slices.Equal(got, []float64{0, 7, 6, 5, 8, 11}) || !math.Signbit(got[0]) {
		t.Errorf("got %v", got)
	}
	if got := p.Grad(x).F64; !slices.Equal(got, []float64{1, 0, 2, 1, 0, 2}) {
		t.Errorf("got the gradient %v", got)
	}
	for want, f := range map[string]func(x Expr) Expr{
		"got 4 numbers, want 6": func(x Expr) Expr { return x.MulAdd(make([]float64, 4), []float64{1}) },
		"got 0 numbers, want 6": func(x Expr) Expr { return x.MulAdd([]float64{1}, nil) },
		"number 1 is +Inf":      func(x Expr) Expr { return x.MulAdd([]float64{1, math.Inf(1)}, []float64{1}) },
		"integers": func(x Expr) Expr {
			return x.g.Root().Ints("n", 6, 2, NoneIgnored).MulAdd([]float64{1}, []float64{1})
		},
	} {
		g := New(Float64, 1)
		if f(g.Root().Param("x", Const(0), 2, 3)); g.Err() == nil || !strings.Contains(g.Err().Error(), want) {
			t.Errorf("got the error %v, want %s", g.Err(), want)
		}
	}
}

// MulAddAt uses the rows of the tables given by the ids. With the ids 0, 1, … it equals MulAdd. The gradient is
// scale's.
func TestMulAddAt(t *testing.T) {
	g := New(Float64, 1)
	x, ids := g.Root().Param("x", Const(2), 3, 2), g.Root().Ints("ids", 3, 4, NoneIgnored)
	copy(ids.Ints(), []int{3, 0, 3})
	scale, shift := []float64{1, 0, 9, 9, 9, 9, -2, 3}, []float64{0, 5, 9, 9, 9, 9, 0, 1}
	y := x.MulAddAt(ids, scale, shift)
	p, err := CompileWith(y.SumAll(), []Expr{y}, x)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][2][]float64{
		{{-4, 7, 2, 5, -4, 7}, {-2, 3, 1, 0, -2, 3}}, {{2, 5, 2, 5, 2, 5}, {1, 0, 1, 0, 1, 0}},
	} {
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if got, slope := p.Kept(y).F64, p.Grad(x).F64; !slices.Equal(got, want[0]) || !slices.Equal(slope, want[1]) {
			t.Errorf("got %v with slope %v, want %v", got, slope, want)
		}
		clear(ids.Ints())
	}
	for want, f := range map[string]func(x, ids Expr) Expr{
		"ids up to 3 for 3 rows":   func(x, ids Expr) Expr { return x.MulAddAt(ids, scale[:6], shift) },
		"got 7 numbers, want rows": func(x, ids Expr) Expr { return x.MulAddAt(ids, scale, shift[:7]) },
		"number 0 is NaN": func(x, ids Expr) Expr {
			return x.MulAddAt(
				ids, slices.Repeat([]float64{math.NaN()}, 8), shift,
			)
		},
		"got 3 ids, want 1": func(x, ids Expr) Expr {
			return x.Reshape(1, 6).MulAddAt(ids, make([]float64, 24), make([]float64, 24))
		},
		"got (6), want a matrix":         func(x, ids Expr) Expr { return x.Reshape(6).MulAddAt(ids, scale, shift) },
		"want integers declared by Ints": func(x, ids Expr) Expr { return x.MulAddAt(x, scale, shift) },
	} {
		g := New(Float64, 1)
		if f(g.Root().Param("x", Const(0), 3, 2), g.Root().Ints("ids", 3, 4, NoneIgnored)); g.Err() == nil ||
			!strings.Contains(g.Err().Error(), want) {
			t.Errorf("got the error %v, want %s", g.Err(), want)
		}
	}
}

// EditedByRows is true if every edit is applied and computes with the rows. Calling Rows changes nothing.
func TestEditedByRows(t *testing.T) {
	only := func(x Expr) Expr {
		if at, ok := x.Graph().Rows(); !ok || at.Name() != "at" {
			t.Errorf("got the rows %q, %v", at.Name(), ok)
		}
		return x.Scale(2)
	}
	reads := func(x Expr) Expr {
		at, _ := x.Graph().Rows()
		list := make([]float64, 5*x.Shape()[1])
		return x.MulAddAt(at, list, list)
	}
	for name, tc := range map[string]struct {
		edits map[string]func(Expr) Expr
		want  bool
	}{
		"all read": {map[string]func(Expr) Expr{"h.0.mlp": reads, "h.1.mlp": reads}, true},
		"one does not": {
			map[string]func(Expr) Expr{"h.0.mlp": reads, "h.1.mlp": func(x Expr) Expr { return x.Scale(2) }}, false,
		},
		"one only calls": {map[string]func(Expr) Expr{"h.0.mlp": reads, "h.1.mlp": only}, false},
		"one is not":     {map[string]func(Expr) Expr{"h.0.mlp": reads, "h.2.mlp": reads}, false},
		"one is wrong": {
			map[string]func(Expr) Expr{
				"h.0.mlp": func(x Expr) Expr { x.Graph().Rows(); return x.Columns(0, 1) },
			}, false,
		},
	} {
		g := New(Float64, 1)
		for place, edit := range tc.edits {
			g.Edit(place, edit)
		}
		s := g.Sibling()
		s.SetRows(s.Root().Ints("at", 1, 5, NoneIgnored))
		if squares(s); s.EditedByRows() != tc.want {
			t.Errorf("%s: got %v", name, s.EditedByRows())
		}
	}
	if _, ok := New(Float64, 1).Rows(); ok {
		t.Error("a graph of entire contexts has rows")
	}
}

// An activation on which nothing depends is computed once it is asked for, and only then, and it cannot be edited.
func TestDerive(t *testing.T) {
	g, calls := New(Float64, 1), 0
	out := squares(g)
	derive := func(g *Graph, out Expr) {
		g.Root().Sub("h.1").Derive("norm", func() Expr { calls++; return out.Sqrt() })
		g.Root().Sub("h.1").Derive("norm", func() Expr { return out })
	}
	derive(g, out)
	if got, err := g.Places("h.1.*"); err != nil || !slices.Equal(got, []string{"h.1.mlp", "h.1.norm"}) || calls != 0 {
		t.Errorf("got %q (%v) after %d calls, want h.1.norm after none", got, err, calls)
	}
	x, err := g.Activation("h.1.norm")
	again, _ := g.Activation("h.1.norm")
	if err != nil || calls != 1 || again.Node() != x.Node() {
		t.Fatalf("got two activations after %d calls (%v), want one", calls, err)
	}
	p, err := CompileWith(out.SumAll(), []Expr{x}, g.Params()[0])
	if err == nil {
		err = p.Run()
	}
	if err != nil || !slices.Equal(p.Kept(x).F64, []float64{9, 9}) {
		t.Errorf("got %v (%v), want 9 and 9", p.Kept(x).F64, err)
	}
	s := g.Sibling()
	s.Edit("h.1.norm", func(x Expr) Expr { return x })
	derive(s, squares(s))
	if err := s.Err(); err == nil || !strings.Contains(
		err.Error(), "h.1.norm: an edit of an activation on which nothing depends",
	) {
		t.Errorf("an edit: got the error %v", err)
	}
	g = New(Float64, 1)
	g.Root().Derive("norm", func() Expr { panic("no norm") })
	if _, err := g.Activation("norm"); err == nil || !strings.Contains(err.Error(), "norm: panic: no norm") {
		t.Errorf("a panic: got the error %v", err)
	}
}
