package verify

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Every layer's gradients by hand are those of its witnesses, and so are those of autodiff and central differences if the
// formulas are taken away.
func TestCases(t *testing.T) {
	for i, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			r := tried(t, c)
			if !(r.Worst <= Suspicion) || len(r.Suspicious) > 0 || !(r.WorstFloat32 <= toleranceLayer32) || !r.ByHand {
				t.Errorf("got %.1e in float64 and %.1e in float32, want ≤ %.0e and %.0e; suspicious %v", r.Worst, r.WorstFloat32, Suspicion, toleranceLayer32, r.Suspicious)
			}
			if testing.Short() && i%6 != 0 {
				return // differences are the slow witness
			}
			worst, float32 := r.Worst, r.WorstFloat32
			c.Forward, c.Backward = nil, nil
			r = tried(t, c)
			var differences Gap
			for _, row := range r.Rows {
				differences = max(differences, row.Differences)
			}
			if !(differences > 0) || r.ByHand {
				t.Errorf("got %.1e by central differences, by hand %t, want a distance and none by hand", differences, r.ByHand)
			}
			t.Logf("%.1e; float32 %.1e; differences %.1e", worst, float32, differences)
		})
	}
}

func tried(t *testing.T, c Case) *Report {
	t.Helper()
	r, err := c.Run()
	if err != nil {
		t.Fatalf("%+v", err)
	}
	for _, f := range append(r.Failures, r.First) {
		if f != "" {
			t.Error(f)
		}
	}
	return r
}

// Every exported type of nn with a Forward has a Case by hand, and no Case names another.
func TestEveryLayerHasACase(t *testing.T) {
	covered := map[string]bool{}
	for _, c := range Cases() {
		for _, kind := range c.Types {
			covered[kind] = true
		}
		if c.Backward == nil || c.Source == "" || len(c.Types) == 0 {
			t.Errorf("%s: no formulas, source or types", c.Name)
		}
	}
	layers := map[string]bool{}
	files, err := filepath.Glob("../nn/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "Forward" {
				continue
			}
			kind := f.Recv.List[0].Type
			if star, ok := kind.(*ast.StarExpr); ok {
				kind = star.X
			}
			if name := kind.(*ast.Ident).Name; ast.IsExported(name) {
				layers[name] = true
			}
		}
	}
	if len(layers) < 13 {
		t.Errorf("found %d layers in nn, want at least 13", len(layers))
	}
	for name := range layers {
		if !covered[name] {
			t.Errorf("nn.%s has a Forward and no Case", name)
		}
	}
	for name := range covered {
		if !layers[name] {
			t.Errorf("a Case for nn.%s, which has no Forward", name)
		}
	}
}

// norm is the Case that the tests below break.
func norm() Case { return normCases()[0] }

// A mistake in the formulas or in the layer is a failure that names the first wrong gradient.
func TestCaseFails(t *testing.T) {
	alter := func(name string, i int, by float64) func(*Case) {
		return func(c *Case) {
			backward := c.Backward
			c.Backward = func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
				g := backward(p, delta)
				g[name].Data[i] += by
				return g
			}
		}
	}
	tests := map[string]struct {
		break_ func(*Case)
		want   string
	}{
		"weight":    {alter("weight", 5, 1e-8), "weight, row 0, column 5: autodiff has"},
		"input":     {alter(input, 11, 1e-8), "x, row 1, column 3: autodiff has"},
		"backwards": {func(c *Case) { alter("bias", 2, 1)(c); alter("weight", 1, 1)(c) }, "weight, row 0, column 1"},
		"forward": {func(c *Case) {
			c.Forward = func(p Parameters[complex128]) Matrix[complex128] {
				return LayerNormForward(p[input], p["weight"], p["bias"], 2e-3)
			}
		}, ""},
		"layer": {func(c *Case) {
			build := c.Build
			c.Build = func(at nn.Site, x graph.Expr) graph.Expr { at.Embd = 8; return build(at, x).Scale(1 + 1e-8) }
		}, "weight, row 0, column "},
	}
	for name, test := range tests {
		c := norm()
		test.break_(&c)
		r, err := c.Run()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r.OK() || !strings.Contains(r.First, test.want) {
			t.Errorf("%s: got %v, first %q, want %q", name, r.Failures, r.First, test.want)
		}
	}
}

// A structural zero that is none fails, however small it is beside its neighbours.
func TestCaseStructuralZero(t *testing.T) {
	list := attentionCases()
	c := list[slices.IndexFunc(list, func(c Case) bool { return c.Name == "causal attention" })]
	backward := c.Backward
	c.Backward = func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
		g := backward(p, delta)
		g["attn.c_attn.bias"].Data[7] = 1e-11
		return g
	}
	r, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Failures, "; "); !strings.Contains(got, "attn.c_attn.bias[6:12]: identically zero, but is not") {
		t.Errorf("got %q, want a structural zero that is none", got)
	}
}

// Every hole is an error.
func TestCaseHoles(t *testing.T) {
	after := func(change func(g Parameters[float64])) func(*Case) {
		return func(c *Case) {
			backward := c.Backward
			c.Backward = func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
				g := backward(p, delta)
				change(g)
				return g
			}
		}
	}
	tests := map[string]struct {
		break_   func(*Case)
		want     string
		coverage bool
	}{
		"missing": {after(func(g Parameters[float64]) { delete(g, "bias") }), "bias: got a gradient, want none", true},
		"input":   {after(func(g Parameters[float64]) { delete(g, input) }), "x: got a gradient, want none", true},
		"extra":   {after(func(g Parameters[float64]) { g["scale"] = Random("s", 1, 8) }), "scale: got (0, 0), want (1, 8)", true},
		"shape":   {after(func(g Parameters[float64]) { g["weight"] = g["weight"].Transpose() }), "weight: got (1, 8), want (8, 1)", true},
		"NaN":     {after(func(g Parameters[float64]) { g["weight"].Data[0] = math.NaN() }), "weight: the gradient has length NaN", false},
		"failed":  {after(func(g Parameters[float64]) { g["weight"] = g["weight"].MatMul(g["weight"]) }), "weight: verify: shapes do not fit", false},
		"frozen":  {func(c *Case) { c.Frozen = []string{"gain"} }, "the layer has no gain", true},
		"zeros":   {func(c *Case) { c.Zeros = []Columns{{"gain", 0, 1}} }, "the layer has no gain", true},
		"overlap": {func(c *Case) { c.Zeros = []Columns{{"bias", 5, 3}} }, "bias[5:3]: compares columns 5 to 3, want from 5", true},
		"one":     {func(c *Case) { c.Forward = nil }, "one of Forward and Backward is missing", false},
		"unused": {func(c *Case) {
			c.Build = func(at nn.Site, x graph.Expr) graph.Expr { return at.Param("w", graph.Const(1), 2, 3) }
		}, "x: the loss does not depend on it", false},
		"of shape": {func(c *Case) { c.Forward = func(p Parameters[complex128]) Matrix[complex128] { return p["bias"] } }, "by hand the result is (1, 8), the layer's is (12, 8)", false},
		"layer": {func(c *Case) {
			c.Build = func(at nn.Site, x graph.Expr) graph.Expr { return x.MatMul(at.Param("w", graph.Const(0), 7, 2)) }
		}, "inner sizes 8 and 7 differ", false},
	}
	for name, test := range tests {
		c := norm()
		test.break_(&c)
		_, err := c.Run()
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "case layer norm") {
			t.Errorf("%s: got error %v, want %s", name, err, test.want)
		}
		if errors.Is(err, ErrCoverage) != test.coverage {
			t.Errorf("%s: got error %v, want ErrCoverage %t", name, err, test.coverage)
		}
	}
}

// A layer whose derivative is wrong is found by central differences too: here a RowMax, of which autodiff sees nothing, beside
// ln(1 + eˣ).
func TestCaseWithoutFormulas(t *testing.T) {
	c := Case{Name: "half hidden", Build: func(at nn.Site, x graph.Expr) graph.Expr {
		return x.Exp().Shift(1).Log().Add(x.RowMax()) // RowMax takes no part in differentiation
	}}
	r, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	if r.OK() || r.ByHand || !strings.Contains(r.Failures[0], "x: differences: distance") {
		t.Errorf("got %v, want a distance from central differences", r.Failures)
	}
}
