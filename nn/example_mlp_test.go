package nn_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// ReGLU is an MLP with a gate by ReLU (Shazeer 2020): y = (relu(x·w_g) ∘ x·w_u)·w_d.
type ReGLU struct {
	Gate, Up, Down nn.Layer
	scope          graph.Scope
}

// NewReGLU declares w_gate and w_up (d, f) and w_down (f, d).
func NewReGLU(at nn.Site) nn.Layer {
	matrix := func(name string, in, out int) nn.Layer {
		return at.Affine(at.Sub("%s", name), in, []int{out}, false, graph.Normal(0.02))
	}
	return &ReGLU{
		matrix("w_gate", at.Embd, at.Inner), matrix("w_up", at.Embd, at.Inner), matrix("w_down", at.Inner, at.Embd),
		at.Scope,
	}
}

// Forward returns (relu(x·w_g) ∘ x·w_u)·w_d.
func (l *ReGLU) Forward(x graph.Expr) graph.Expr { // (n, d) → (n, d)
	gate := nn.ReLU{}.Forward(l.Gate.Forward(x).In(l.scope)) // relu(x·w_g)       (n, f)
	return l.Down.Forward(gate.Mul(l.Up.Forward(x)))         // (… ∘ x·w_u)·w_d   (n, d)
}

// A user-defined MLP takes the place of the default in every kind of block.
func ExampleSite_mlp() {
	at := site()
	at.MLP = NewReGLU
	nn.NewPostNormBlock(at.At("h.0"), func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) })
	for _, p := range at.Graph().Params() {
		fmt.Println(p.Name(), p.Tensor().Shape)
	}
	gated := NewReGLU(at.At("alone"))
	set(at.Graph(), map[string][]float64{
		"alone.w_gate.weight": {1, 0, 0, 0, 0, 1, 0, 0}, "alone.w_up.weight": {1, 0, 0, 0, 0, 1, 0, 0},
		"alone.w_down.weight": {1, 0, 0, 1, 0, 0, 0, 0},
	})
	show(gated.Forward(at.Value("x", numbers(1, 2, -1, 0), 2, 2)))
	// Output:
	// h.0.ln_1.weight [2]
	// h.0.attn.c_attn.weight [2 6]
	// h.0.attn.c_proj.weight [2 2]
	// h.0.ln_2.weight [2]
	// h.0.mlp.w_gate.weight [2 4]
	// h.0.mlp.w_up.weight [2 4]
	// h.0.mlp.w_down.weight [4 2]
	//   1.00  4.00
	//   0.00  0.00
}
