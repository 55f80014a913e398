package parts_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// gated lets every token scale the features of its attention result with a gate: σ(x·w + b) ∘ attention(x).
type gated struct {
	nn.Cached
	gate nn.Layer
}

func newGated(at nn.Site) nn.Layer {
	gate := at.Affine(at.Sub("c_gate"), at.Embd, []int{at.Embd}, true, graph.Normal(0.02))
	return gated{nn.NewSelfAttention(at), gate}
}

// Forward computes all tokens at once, Step only the newest: attention has cached the keys and values of the others.
func (l gated) Forward(x graph.Expr) graph.Expr  { return l.open(x).Mul(l.Cached.Forward(x)) }
func (l gated) Step(x, at graph.Expr) graph.Expr { return l.open(x).Mul(l.Cached.Step(x, at)) }

func (l gated) open(x graph.Expr) graph.Expr { return nn.Sigmoid{}.Forward(l.gate.Forward(x)) } // (n, d) → (n, d)

// Attention with a user-defined gate, and with the mask, positions, dropout and cache of SelfAttention.
func ExampleRegistry_ownAttention() {
	c := small()
	plain, _ := c.Count()
	c.Attention, c.Parts.Attentions = "gated", []parts.Attention{{
		Name: "gated", New: func(nn.Site, parts.Stack) nn.Attention { return newGated },
	}}
	more, _ := c.Count()
	fmt.Println(more-plain, "parameters more")
	trains(c)
	// Output:
	// 544 parameters more
	// the loss falls, and it writes
}
