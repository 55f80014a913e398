package verify

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// byFormulas returns a Case with formulas.
func byFormulas(c Case, real func(hand.Site[float64]) hand.Layer[float64],
	step func(hand.Site[complex128]) hand.Layer[complex128]) Case {
	c.Dims = fixture.Default().Dims()
	c.Forward = func(p hand.Parameters[complex128]) hand.Matrix[complex128] {
		return step(hand.Site[complex128]{Parameters: p, Eps: 1e-3}).Forward(p[input])
	}
	c.Backward = func(p hand.Parameters[float64], delta hand.Matrix[float64]) hand.Gradients[float64] {
		dx, g := real(hand.Site[float64]{Parameters: p, Eps: 1e-3}).Backward(p[input], delta)
		return append(g, hand.Gradient[float64]{Name: input, Value: dx})
	}
	return c
}

// norm returns the Case that the tests below break.
func norm() Case {
	return byFormulas(Case{Name: "layer norm", Build: func(at nn.Site, x graph.Expr) graph.Expr {
		at.Eps = 1e-3
		return nn.NewLayerNorm(at).Forward(x)
	}}, hand.Site[float64].LayerNorm, hand.Site[complex128].LayerNorm)
}

// attention returns causal attention with all heads.
func attention[T hand.Number](at hand.Site[T]) hand.Layer[T] {
	heads := hand.Heads[T]{Batch: fixture.Batch, Count: fixture.Heads, Head: func(_, _ int) hand.Head[T] {
		return hand.Attention[T]{Mask: hand.CausalMask(fixture.Tokens)}
	}}
	return at.SelfAttention(heads, fixture.Heads*fixture.QK, nil)
}

// put returns a change of the gradient with that name and part.
func put(name, part string, change func(m hand.Matrix[float64]) hand.Matrix[float64]) func(*Case) {
	return func(c *Case) {
		backward := c.Backward
		c.Backward = func(p hand.Parameters[float64], delta hand.Matrix[float64]) hand.Gradients[float64] {
			g := backward(p, delta)
			for i, e := range g {
				if e.Name == name && e.Part == part {
					g[i].Value = change(e.Value)
				}
			}
			return g
		}
	}
}

func added(i int, by float64) func(m hand.Matrix[float64]) hand.Matrix[float64] {
	return func(m hand.Matrix[float64]) hand.Matrix[float64] {
		m.Data[i] += by
		return m
	}
}

// A mistake in the formulas or in the layer is a failure that names the first wrong gradient.
func TestCaseFails(t *testing.T) {
	alter := func(name string, i int, by float64) func(*Case) { return put(name, "", added(i, by)) }
	tests := map[string]struct {
		break_ func(*Case)
		want   string
	}{
		"weight":    {alter("weight", 5, 1e-8), "weight, row 0, column 5: autodiff has"},
		"input":     {alter(input, 11, 1e-8), "x, row 1, column 3: autodiff has"},
		"backwards": {func(c *Case) { alter("bias", 2, 1)(c); alter("weight", 1, 1)(c) }, "weight, row 0, column 1"},
		"forward": {func(c *Case) {
			c.Forward = func(p hand.Parameters[complex128]) hand.Matrix[complex128] {
				return hand.LayerNorm[complex128]{Weight: p["weight"], Bias: p["bias"], Eps: 2e-3}.Forward(p[input])
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

// A structural zero whose gradient is not zero fails, however small it is compared with its neighbours.
func TestCaseStructuralZero(t *testing.T) {
	c := byFormulas(Case{Name: "attention", Build: func(at nn.Site, x graph.Expr) graph.Expr {
		return nn.NewSelfAttention(at).Forward(x)
	}}, attention[float64], attention[complex128])
	if r, err := c.Run(); err != nil || !r.OK() {
		t.Fatalf("got error %v, report %+v", err, r)
	}
	put(
		"c_attn.bias", "k", func(m hand.Matrix[float64]) hand.Matrix[float64] { return added(1, 1e-11)(m.Scale(0)) },
	)(&c)
	r, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Failures, "; "); !strings.Contains(
		got, "c_attn.bias[6:12]: identically zero, but is not",
	) {
		t.Errorf("got %q, want a structural zero that is not zero", got)
	}
}

// Every missing part is an error.
func TestCaseHoles(t *testing.T) {
	after := func(change func(g hand.Gradients[float64]) hand.Gradients[float64]) func(*Case) {
		return func(c *Case) {
			backward := c.Backward
			c.Backward = func(p hand.Parameters[float64], delta hand.Matrix[float64]) hand.Gradients[float64] {
				return change(backward(p, delta))
			}
		}
	}
	without := func(name string) func(*Case) {
		return after(func(g hand.Gradients[float64]) hand.Gradients[float64] {
			return slices.DeleteFunc(g, func(e hand.Gradient[float64]) bool { return e.Name == name })
		})
	}
	extra := hand.Gradient[float64]{Name: "scale", Value: fixture.Random("s", 1, 8)}
	tests := map[string]struct {
		break_   func(*Case)
		want     string
		coverage bool
	}{
		"missing": {without("bias"), "bias: got a gradient, want none", true},
		"input":   {without(input), "x: got a gradient, want none", true},
		"extra": {
			after(func(g hand.Gradients[float64]) hand.Gradients[float64] { return append(g, extra) }),
			"scale: got (0, 0), want (1, 8)", true,
		},
		"shape": {put("weight", "", hand.Matrix[float64].Transpose), "weight: got (1, 8), want (8, 1)", true},
		"NaN":   {put("weight", "", added(0, math.NaN())), "weight: the gradient has length NaN", false},
		"failed": {
			put("weight", "", func(m hand.Matrix[float64]) hand.Matrix[float64] { return m.MatMul(m) }),
			"weight: hand: shapes do not fit", false,
		},
		"frozen": {func(c *Case) { c.Frozen = []string{"gain"} }, "the layer has no gain", true},
		"one":    {func(c *Case) { c.Forward = nil }, "one of Forward and Backward is missing", false},
		"unused": {func(c *Case) {
			c.Build = func(at nn.Site, x graph.Expr) graph.Expr { return at.Param("w", graph.Const(1), 2, 3) }
		}, "x: the loss does not depend on it", false},
		"of shape": {func(c *Case) {
			c.Forward = func(p hand.Parameters[complex128]) hand.Matrix[complex128] { return p["bias"] }
		}, "by hand the result is (1, 8), the layer's is (12, 8)", false},
		"layer": {func(c *Case) {
			c.Build = func(at nn.Site, x graph.Expr) graph.Expr { return x.MatMul(at.Param("w", graph.Const(0), 7, 2)) }
		}, "inner sizes 8 and 7 differ", false},
	}
	for name, test := range tests {
		c := norm()
		test.break_(&c)
		_, err := c.Run()
		if err == nil || !strings.Contains(err.Error(), test.want) ||
			!strings.Contains(err.Error(), "case layer norm") {
			t.Errorf("%s: got error %v, want %s", name, err, test.want)
		}
		if errors.Is(err, ErrCoverage) != test.coverage {
			t.Errorf("%s: got error %v, want ErrCoverage %t", name, err, test.coverage)
		}
	}
}

// Central differences find a wrong derivative: here the derivative of a RowMax added to ln(1 + eˣ), which autodiff
// ignores.
func TestCaseWithoutFormulas(t *testing.T) {
	c := Case{Name: "half hidden", Build: func(at nn.Site, x graph.Expr) graph.Expr {
		return x.Exp().Shift(1).Log().Add(x.RowMax()) // RowMax takes no part in differentiation
	}}
	r, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	if r.OK() || r.ByHand || !strings.Contains(r.Failures[0], "x: central differences: distance") {
		t.Errorf("got %v, want a distance from central differences", r.Failures)
	}
}
