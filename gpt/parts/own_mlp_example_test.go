package parts_test

import (
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// geGLU is (gelu(x·w) ∘ x·v)·w₂: features that pass a gate with GELU (Shazeer 2020).
type geGLU struct {
	Gate, Up, Down nn.Layer
	scope          graph.Scope
}

func newGEGLU(at nn.Site) nn.Layer {
	affine := func(name string, in, out int) nn.Layer {
		return at.Affine(at.Sub("%s", name), in, []int{out}, at.Bias, graph.Normal(0.02))
	}
	return &geGLU{affine("c_gate", at.Embd, at.Inner), affine("c_fc", at.Embd, at.Inner), affine("c_proj", at.Inner, at.Embd), at.Scope}
}

func (l *geGLU) Forward(x graph.Expr) graph.Expr { // (n, d) → (n, d)
	gate := nn.GELU{}.Forward(l.Gate.Forward(x).In(l.scope)) // gelu(x·w)   (n, f)
	return l.Down.Forward(gate.Mul(l.Up.Forward(x)))
}

// GEGLU in place of every MLP.
func ExampleRegistry_ownMLP() {
	c := small()
	c.MLP, c.Parts.MLPs = "geglu", []parts.MLP{{Name: "geglu", New: newGEGLU}}
	trains(c)
	// Output: the loss falls, and it writes
}
