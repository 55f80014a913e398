package nn

import (
	"fmt"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// silu(z) − silu(−z) = z: with the gate's weights negated the layer loses what a gate without a bend would let pass,
// (z_g ∘ z_u)·w_d, whatever the numbers.
func TestI65GateWithoutABend(t *testing.T) {
	d := Dims{Batch: 1, Context: 3, Embd: 5, Inner: 7, Blocks: 1}
	of := func(kernels bool, sign float64, build func(l *SwiGLU, x graph.Expr) graph.Expr) []float64 {
		g := graph.New(graph.Float64, 3)
		g.Kernels = kernels
		x := g.Root().Value("x", graph.Normal(20), d.Context, d.Embd)
		l := NewSwiGLU(Site{Scope: g.Root().Sub("mlp"), Dims: d})
		for _, p := range g.Params() {
			for i := range p.Tensor().Len() {
				if p.Tensor().Set(i, 50*p.Tensor().At(i)); p.Name() == "mlp.c_gate.weight" {
					p.Tensor().Set(i, sign*p.Tensor().At(i))
				}
			}
		}
		return run(t, build(l, x)).Value().Floats()
	}
	for _, kernels := range []bool{false, true} {
		layer := func(l *SwiGLU, x graph.Expr) graph.Expr { return l.Forward(x) }
		with, without := of(kernels, 1, layer), of(kernels, -1, layer)
		straight := of(kernels, 1, func(l *SwiGLU, x graph.Expr) graph.Expr {
			return l.Proj.Forward(l.Gate.Forward(x).Mul(l.Fc.Forward(x)))
		})
		for i, want := range straight {
			if got := with[i] - without[i]; !(math.Abs(got-want) <= 1e-13*max(math.Abs(with[i]), math.Abs(without[i]))) {
				t.Errorf("kernels %t, entry %d: got %v, want %v", kernels, i, got, want)
			}
		}
	}
}

// The layer reads neither an activation nor a mask of its site, and asks for the sizes it needs.
func TestSwiGLUNeedsNoActivation(t *testing.T) {
	for inner, ok := range map[int]bool{7: true, 0: false} {
		g := graph.New(graph.Float32, 1)
		x := g.Root().Value("x", graph.Const(1), 2, 5)
		NewSwiGLU(Site{Scope: g.Root().Sub("mlp"), Dims: Dims{Embd: 5, Inner: inner, Blocks: 1}}).Forward(x)
		if err := g.Err(); (err == nil) != ok {
			t.Error(fmt.Sprint(inner, " features inside: got error ", err))
		}
	}
}
