package gpt_test

import (
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// swiGLU is (silu(x·w) ∘ x·v)·w₂ with silu(z) = z·σ(z) (Shazeer 2020).
type swiGLU struct {
	Gate, Up, Down nn.Layer
	scope          graph.Scope
}

func newSwiGLU(at nn.Site) nn.Layer {
	affine := func(name string, in, out int) nn.Layer {
		return at.Affine(at.Sub("%s", name), in, []int{out}, at.Bias, graph.Normal(0.02))
	}
	return &swiGLU{affine("c_gate", at.Embd, at.Inner), affine("c_fc", at.Embd, at.Inner), affine("c_proj", at.Inner, at.Embd), at.Scope}
}

func (l *swiGLU) Forward(x graph.Expr) graph.Expr { // (n, d) → (n, d)
	z := l.Gate.Forward(x).In(l.scope)
	silu := z.Scale(0.5).Tanh().Shift(1).Scale(0.5).Mul(z) // σ(z) = (1 + tanh(z/2))/2   (n, f)
	return l.Down.Forward(silu.Mul(l.Up.Forward(x)))
}

// SwiGLU in place of every MLP.
func ExampleConfig_ownMLP() {
	c := small()
	c.MLP, c.Parts.MLPs = "swiglu", []parts.MLP{{Name: "swiglu", New: newSwiGLU}}
	trains(c)
	// Output: the loss falls, and it writes
}
