package gpt_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Forget is attention of no token to another: what a model can do without it is its baseline.
type Forget struct{ Proj nn.Layer }

// Forward is x·w + b, token by token.
func (l *Forget) Forward(x graph.Expr) graph.Expr { return l.Proj.Forward(x) } // (n, d) → (n, d)

// A new kind of attention is one type and one entry: configurations, flags and checkpoints know it by its name.
func ExampleConfig_parts() {
	forget := parts.Attention{
		Name: "forget",
		New: func(nn.Site, parts.Stack) nn.Attention {
			return func(at nn.Site) nn.Layer {
				return &Forget{nn.NewLinear(at.Sub("c_proj"), at.Embd, []int{at.Embd}, at.Bias, graph.Normal(0.02))}
			}
		},
	}
	c := gpt.Shakespeare()
	c.VocabSize, c.Attention, c.Parts = 65, "forget", parts.Registry{Attentions: []parts.Attention{forget}}
	m, err := gpt.New(graph.New(graph.Float32, 1), c, 2)
	fmt.Println(err, m.Logits.Shape())
	c.Attention = "forgot"
	fmt.Println(c.ValidateModel())
	// Output:
	// <nil> [128 65]
	// attention: got forgot, want one of forget, causal, window, alternating, dilated, longformer, bigbird, linear, taylor, linformer, mla, mla_rope, mla_latent_rope
}
