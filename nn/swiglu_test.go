package nn

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// silu(z) − silu(−z) = z: negating the gate's weights subtracts the result for a linear gate, (z_g ∘ z_u)·w_d, for any
// numbers.
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

// The input goes to c_gate and c_fc, which give different results, and c_proj gets the product of both. A literal
// without these layers is an error of the place of the call.
func TestSwiGLUPlaces(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := graph.New(graph.Float64, 1)
		g.Kernels = kernels
		at, x := placeSite(g)
		NewSwiGLU(at).Forward(x).In(g.Root())
		nodes := map[string]any{}
		for _, place := range []string{"h.1", "h.1.c_gate", "h.1.c_fc", "h.1.c_proj"} {
			in, err := g.Entering(place)
			if err != nil {
				t.Fatal(err)
			}
			out, err := g.Leaving(place)
			if err != nil {
				t.Fatal(err)
			}
			nodes[place], nodes[place+", out"] = in.Node(), out.Node()
		}
		for _, place := range []string{"h.1", "h.1.c_gate", "h.1.c_fc"} {
			if nodes[place] != x.Node() {
				t.Errorf("kernels %t: x is not the input of %s", kernels, place)
			}
			if out := nodes[place+", out"]; out == x.Node() || out == nodes["h.1.c_proj"] {
				t.Errorf("kernels %t: %s shares its result", kernels, place)
			}
		}
		new(SwiGLU).Forward(x)
		if g.Err() == nil {
			t.Errorf("kernels %t: a literal has no error", kernels)
		}
	}
}
