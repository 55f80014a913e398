package gpt_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Forget is an attention in which no token attends to another, a baseline for models.
type Forget struct{ Down, Up nn.Layer }

// Forward computes (x·w↓)·w↑, token by token.
func (l *Forget) Forward(x graph.Expr) graph.Expr { return l.Up.Forward(l.Down.Forward(x)) } // (n, d) → (n, d)

// A new kind of attention is one type and one entry: configurations, flags and checkpoints use its name, and that of
// its option.
func ExampleConfig_parts() {
	forget := parts.Attention{
		Name: "forget",
		Options: []parts.Option{{
			Name: "narrow", Help: "forget: features between the two matrices; 0 is n_embd/2",
			Default: func(s parts.Stack) int { return s.NEmbd / 2 },
		}},
		New: func(_ nn.Site, s parts.Stack) nn.Attention {
			return func(at nn.Site) nn.Layer {
				narrow := s.Options.Get("narrow")
				return &Forget{
					at.Affine(at.Sub("c_down"), at.Embd, []int{narrow}, at.Bias, graph.Normal(0.02)),
					at.Affine(at.Sub("c_proj"), narrow, []int{at.Embd}, at.Bias, graph.Normal(0.02)),
				}
			}
		},
	}
	c := gpt.Shakespeare()
	c.VocabSize, c.Attention, c.Parts = 65, "forget", parts.Registry{Attentions: []parts.Attention{forget}}
	m, err := gpt.New(graph.New(graph.Float32, 1), c, 2)
	fmt.Println(err, m.Logits.Shape())
	before, _ := c.Count()
	c.Options.Set("narrow", 65)
	after, _ := c.Count()
	fmt.Println(after-before, "parameters more in", c.NLayer, "blocks")
	c.Attention = "forgot"
	fmt.Printf("%.50s …\n", c.ValidateModel().Error())
	// Output:
	// <nil> [128 65]
	// 1024 parameters more in 4 blocks
	// attention: got forgot, want one of forget, causal, …
}
