package verify_test

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// Gate is a user-defined layer: y = x ∘ tanh(x ∘ w).
type Gate struct{ Weight graph.Expr }

func NewGate(at nn.Site) *Gate { return &Gate{at.Param("weight", graph.Const(1), at.Embd)} }

func (l *Gate) Forward(x graph.Expr) graph.Expr { return x.Mul(x.Mul(l.Weight).Tanh()) }

// A user-defined layer can be checked before anything is derived, by central differences. With the derivation it is
// checked by hand:
//
//	Δx = Δ ∘ (t + x ∘ (1 − t²) ∘ w),  ∂w = Σ_tokens Δ ∘ x² ∘ (1 − t²),  t = tanh(x ∘ w)
func ExampleCase() {
	c := verify.Case{
		Name:  "gate",
		Build: func(at nn.Site, x graph.Expr) graph.Expr { return NewGate(at).Forward(x) },
	}
	r, err := c.Run()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.OK(), r.ByHand, len(r.Rows))

	c.Forward = func(p hand.Parameters[complex128]) hand.Matrix[complex128] {
		return p["x"].Mul(p["x"].Mul(p["weight"]).Tanh())
	}
	c.Backward = func(p hand.Parameters[float64], delta hand.Matrix[float64]) hand.Gradients[float64] {
		x, w := p["x"], p["weight"]
		t := x.Mul(w).Tanh()
		dtanh := x.Mul(t.Square().Scale(-1).Shift(1)) // x(1 − t²)
		return hand.Gradients[float64]{
			{Name: "x", Value: delta.Mul(t.Add(dtanh.Mul(w)))},
			{Name: "weight", Value: delta.Mul(dtanh).Mul(x).SumTokens()},
		}
	}
	r, err = c.Run()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.OK(), r.ByHand, r.Worst <= verify.Suspicion)
	// Output:
	// true false 2
	// true true true
}

// Formulas by hand are compared without rounding. A function of one's own takes part by its derivative; a formula that
// reads entries cannot.
func ExampleCase_Exact() {
	arctan := hand.Function{
		Name: "arctan", Of64: math.Atan, OfComplex: cmplx.Atan,
		Differential: func(x, _ hand.Matrix[float64]) hand.Matrix[float64] { // 1/(1 + x²)
			return hand.NewMatrix(1, 1, 1.0).Div(x.Square().Shift(1))
		},
	}
	c := verify.Case{
		Name:    "arctan",
		Build:   func(_ nn.Site, x graph.Expr) graph.Expr { return x }, // for the sizes
		Forward: func(p hand.Parameters[complex128]) hand.Matrix[complex128] { return p["x"].Apply(arctan) },
		Backward: func(p hand.Parameters[float64], delta hand.Matrix[float64]) hand.Gradients[float64] {
			return hand.Gradients[float64]{{Name: "x", Value: delta.Div(p["x"].Square().Shift(1))}}
		},
	}
	r, err := c.Exact(100, 1)
	fmt.Println(r.Draws, r.Differing, r.Bound < -40, err)

	c.Backward = func(p hand.Parameters[float64], delta hand.Matrix[float64]) hand.Gradients[float64] {
		x := p["x"].At(0, 0)
		return hand.Gradients[float64]{{Name: "x", Value: delta.Scale(1 / (1 + x*x))}}
	}
	_, err = c.Exact(1, 1)
	fmt.Println(errors.Is(err, verify.ErrReadsData))
	// Output:
	// 100 0 true <nil>
	// true
}

// The complex step takes every entry of a small layer in Run, and a few of every parameter in RunSample.
func ExampleCase_RunSample() {
	c := verify.Case{
		Name:    "square",
		Build:   func(at nn.Site, x graph.Expr) graph.Expr { return x.Square() },
		Forward: func(p hand.Parameters[complex128]) hand.Matrix[complex128] { return p["x"].Square() },
		Backward: func(p hand.Parameters[float64], delta hand.Matrix[float64]) hand.Gradients[float64] {
			return hand.Gradients[float64]{{Name: "x", Value: delta.Mul(p["x"]).Scale(2)}}
		},
		Dims: nn.Dims{Batch: 2, Context: 3, Embd: 5, Heads: 1},
	}
	r, err := c.RunSample(4)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.OK(), r.Parameters, "numbers,", r.Entries, "alone")
	// Output: true 30 numbers, 8 alone
}

// exclusive is the link of a user by hand: it takes the direction of a token's value out of the result of its head.
//
//	y ← y − s v,  s = y·v/w,  w = ‖v‖² + ε
type exclusive[T hand.Number] struct{}

func (exclusive[T]) Forward(v hand.Values[T]) (written hand.Values[T]) {
	y, value := v["y"], v["v"]
	s := y.Mul(value).Sum().Div(value.Square().Sum().Shift(0.1))
	return hand.Values[T]{"y": y.Sub(value.Mul(s))}
}

// With a = Δ·v/w: Δy = Δ − a v, Δv = −s Δ − a (y − 2 s v).
func (exclusive[T]) Backward(v, delta hand.Values[T]) (read hand.Values[T], g hand.Gradients[T]) {
	y, value, d := v["y"], v["v"], delta["y"]
	w := value.Square().Sum().Shift(0.1)
	s, a := y.Mul(value).Sum().Div(w), d.Mul(value).Sum().Div(w)
	dv := d.Mul(s).Add(y.Sub(value.Mul(s).Scale(2)).Mul(a)).Scale(-1)
	return hand.Values[T]{"y": d.Sub(value.Mul(a)), "v": dv}, nil
}

// attention returns self-attention of one head with that link.
func attention[T hand.Number](p hand.Parameters[T]) hand.Layer[T] {
	at := hand.Site[T]{Parameters: p, Links: func(hand.Site[T], hand.Heads[T], string) hand.Chain[T] {
		return hand.Chain[T]{exclusive[T]{}}
	}}
	return at.SelfAttention(hand.Heads[T]{Batch: 2, Count: 1, Head: func(_, _ int) hand.Head[T] {
		return hand.Attention[T]{Mask: hand.CausalMask(3)}
	}}, 4, nil)
}

// A link of a user inside the library's attention, by automatic differentiation, by hand, by the complex step, and
// without rounding.
func ExampleCase_link() {
	c := verify.Case{
		Name: "attention with a link", Dims: nn.Dims{Batch: 2, Context: 3, Embd: 5, Heads: 1, QK: 4, V: 3},
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Mask = nn.NewMask(at.Scope, at.Dims, nn.Causal{})
			at.Links.After = []nn.NamedLink{{Name: "exclusive", New: func(nn.Site, fused.AttentionShape) nn.Link {
				return nn.LinkFunc(func(in nn.Inside) graph.Expr {
					v := in.Value()
					return in.Y.Sub(v.Mul(in.Y.Mul(v).Sum().Div(v.Square().Sum().Shift(0.1))))
				})
			}}}
			return nn.NewSelfAttention(at).Forward(x)
		},
		Forward: func(p hand.Parameters[complex128]) hand.Matrix[complex128] { return attention(p).Forward(p["x"]) },
		Backward: func(p hand.Parameters[float64], delta hand.Matrix[float64]) hand.Gradients[float64] {
			dx, g := attention(p).Backward(p["x"], delta)
			return append(g, hand.Gradient[float64]{Name: "x", Value: dx})
		},
	}
	r, err := c.Run()
	if err != nil {
		fmt.Println(err)
		return
	}
	exact, err := c.Exact(10, 1)
	fmt.Println(r.OK(), r.ByHand, exact.Differing, err)
	// Output: true true 0 <nil>
}
