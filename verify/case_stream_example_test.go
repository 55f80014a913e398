package verify_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// weighted is a residual stream to which every sublayer adds its result with a learned weight: x ← x + c·y.
type weighted struct{ nn.PlainStream }

func (weighted) Connect(at nn.Site) nn.Connection {
	return weightedSum{at.Param("c", graph.Const(0.5), 1)}
}

type weightedSum struct{ c graph.Expr }

func (weightedSum) Read(x graph.Expr) graph.Expr { return x }

func (s weightedSum) Write(x graph.Expr, y ...graph.Expr) graph.Expr { return x.Add(y[0].Mul(s.c)) }

// weightedLink is the same by hand.
type weightedLink[T hand.Number] struct{ c hand.Matrix[T] }

func (l weightedLink[T]) Forward(v hand.Values[T]) hand.Values[T] {
	return hand.Values[T]{"x": v["x"].Add(v["y"].Mul(l.c))}
}

// Δx = Δ, Δy = c Δ, ∂c = Σ Δ ∘ y.
func (l weightedLink[T]) Backward(v, delta hand.Values[T]) (read hand.Values[T], g hand.Gradients[T]) {
	d := delta["x"]
	g = hand.Gradients[T]{{Name: "c", Value: d.Mul(v["y"]).Sum().SumTokens()}}
	return hand.Values[T]{"x": d, "y": d.Mul(l.c)}, g
}

// weightedBlock returns the block of GPT-2 in this stream.
func weightedBlock[T hand.Number](p hand.Parameters[T]) hand.Layer[T] {
	at := hand.Site[T]{Parameters: p, Eps: 0.1}
	heads := hand.Heads[T]{Batch: 2, Count: 1, Head: func(_, _ int) hand.Head[T] {
		return hand.Attention[T]{Mask: hand.CausalMask(3)}
	}}
	return hand.Block[T]{
		Norm1: at.At("ln_1").LayerNorm(), Attention: at.At("attn").SelfAttention(heads, 4, nil),
		Norm2: at.At("ln_2").LayerNorm(), MLP: at.At("mlp").MLP(hand.GELU[T]{}),
		Stream: func(sublayer string) hand.Connection[T] {
			return hand.Connection[T]{
				Read:  hand.Chain[T]{hand.Keep[T]("x", "h")},
				Write: hand.Chain[T]{weightedLink[T]{at.At(sublayer + "_stream").Param("c")}},
			}
		},
	}
}

// A residual stream of a user around the library's sublayers, by automatic differentiation, by hand, by the complex
// step, and without rounding.
func ExampleCase_stream() {
	c := verify.Case{
		Name: "block in a weighted stream",
		Dims: nn.Dims{Batch: 2, Context: 3, Embd: 5, Heads: 1, QK: 4, V: 3, Inner: 6, Blocks: 1},
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Mask, at.Eps = nn.NewMask(at.Scope, at.Dims, nn.Causal{}), 0.1
			at.Stream = nn.NamedStream{Name: "weighted", Stream: weighted{}}
			return nn.NewBlock(at, func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) }).Forward(x)
		},
		Forward: func(p hand.Parameters[complex128]) hand.Matrix[complex128] {
			return weightedBlock(p).Forward(p["x"])
		},
		Backward: func(p hand.Parameters[float64], delta hand.Matrix[float64]) hand.Gradients[float64] {
			dx, g := weightedBlock(p).Backward(p["x"], delta)
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
