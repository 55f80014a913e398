package parts_test

import (
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// geGLU is (gelu(x·w) ∘ x·v)·w₂: features that pass a gate with GELU (Shazeer 2020).
type geGLU struct{ gate, up, down nn.Layer }

func newGEGLU(at nn.Site) nn.Layer {
	affine := func(name string, in, out int) nn.Layer {
		return at.Affine(at.Sub("%s", name), in, []int{out}, at.Bias, graph.Normal(0.02))
	}
	d, f := at.Embd, at.Inner
	return geGLU{affine("c_gate", d, f), affine("c_fc", d, f), affine("c_proj", f, d)}
}

func (l geGLU) Forward(x graph.Expr) graph.Expr { // (n, d) → (n, d)
	return l.down.Forward(nn.GELU{}.Forward(l.gate.Forward(x)).Mul(l.up.Forward(x)))
}

// A gated MLP of one's own in place of every MLP.
func ExampleRegistry_ownMLP() {
	c := small()
	c.MLP, c.Parts.MLPs = "geGLU", []parts.MLP{{Name: "geGLU", New: newGEGLU}}
	trains(c)
	// Output: the loss falls, and it writes
}
