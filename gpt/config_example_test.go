package gpt_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// A program's configuration is a preset, then a file, then flags.
func ExampleConfig() {
	c := gpt.Shakespeare()
	flags := flag.NewFlagSet("train", flag.ContinueOnError)
	c.Flags(flags)
	args := []string{"-n_layer", "2", "-vocab_size", "65"}
	if err := flags.Parse(args); err != nil {
		fmt.Println(err)
	}
	c, err := gpt.ReadConfig(strings.NewReader(`{"n_layer": 8, "n_head": 5}`), c)
	if err != nil {
		fmt.Println(err)
	}
	if err := flags.Parse(args); err != nil { // again: flags win over the file
		fmt.Println(err)
	}
	fmt.Println(c.Validate())

	c.NHead = 4
	total, _ := c.Count()
	fmt.Println(c.NLayer, "blocks,", total, "parameters,", c.Validate())
	// Output:
	// n_head: 5 heads do not divide n_embd 128; set both qk_size and v_size to do without
	// 2 blocks, 410368 parameters, <nil>
}

// The paper's network, and the number of trained parameters with adapters on its head.
func ExampleConfig_Count() {
	c := gpt.Paper()
	total, _ := c.Count()
	c.LoraR, c.LoraTargets = 16, []string{"lm_head"}
	_, trainable := c.Count()
	fmt.Println(total, trainable)
	// Output: 85120849 816400
}

func ExampleReadConfig() {
	_, err := gpt.ReadConfig(strings.NewReader(`{"n_heads": 4}`), gpt.Shakespeare())
	fmt.Println(err)
	// Output: n_heads: unknown field; did you mean n_head?
}

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

// A training loop without a Trainer: a model on a graph, a program of its loss and gradients, an optimizer, and
// batches.
func ExampleNew() {
	c := small()
	data, _ := corpus(c)
	var m *gpt.Model
	var p *graph.Program
	_, err := graph.Build(graph.Float32, c.Seed, func(g *graph.Graph) (err error) {
		c.Configure(g)
		if m, err = gpt.New(g, c, c.BatchSize); err != nil {
			return err
		}
		p, err = graph.Compile(m.Loss, m.Trainable()...)
		return err
	})
	check(err)
	o, err := optim.New(m.Trainable(), optim.AdamW{Beta1: 0.9, Beta2: 0.999})
	check(err)
	o.Decay, o.Clip = 0.1, 1

	rng, losses := rand.New(rand.NewPCG(1, 2)), []float64{}
	for range c.MaxIters {
		check(text.Sample(data.Train(), rng, m.Tokens.Ints(), m.Targets.Ints(), c.BlockSize))
		check(p.Run())
		_, err := o.Update(p, 1e-2)
		check(err)
		losses = append(losses, p.Loss())
	}
	fmt.Println("the loss falls:", losses[len(losses)-1] < 0.9*losses[0])
	// Output: the loss falls: true
}
