package gpt_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
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

// The networks of published models, by name.
func ExampleStories15M() {
	for _, c := range []gpt.Config{gpt.DistilGPT2(), gpt.GPT2(), gpt.SmolLM2_135M(), gpt.Stories15M()} {
		total, _ := c.Count()
		family, err := c.Family()
		fmt.Println(c.NLayer, "blocks,", total, "parameters,", family, err)
	}
	// Output:
	// 6 blocks, 81912576 parameters, gpt2 <nil>
	// 12 blocks, 124439808 parameters, gpt2 <nil>
	// 30 blocks, 134515008 parameters, llama <nil>
	// 6 blocks, 15191712 parameters, llama <nil>
}

// A model that was built here is exported like a published one, and opened again.
func ExampleModel_Export() {
	c := gpt.Stories15M()
	c.NLayer, c.NHead, c.NEmbd, c.NInner, c.VocabSize, c.BlockSize = 2, 2, 16, 24, text.Bytes{}.Size(), 32
	m, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	temp, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(temp)
	dir := filepath.Join(temp, "stories")
	if err := m.Export(dir, text.Bytes{}, safetensors.BF16); err != nil {
		fmt.Println(err)
		return
	}
	cp, err := checkpoint.Load(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cp.Names(), cp.Published, cp.Close())
	again, _, err := gpt.OpenCropped(dir, 16)
	fmt.Println(again.Config.Norm, again.Config.MLP, again.Config.BlockSize, err)
	// Output:
	// [config.json generation_config.json model.safetensors vocabulary.json] true <nil>
	// rmsnorm swiglu 16 <nil>
}

// The result of fine-tuning is a separate file, much smaller than the model's.
func ExampleModel_ReadAdapters() {
	c := gpt.Shakespeare()
	c.VocabSize, c.LoraR = 65, 4
	tuned, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	up, _ := tuned.Graph.Leaf("h.0.mlp.c_fc.lora_u")
	up.Tensor().Set(0, 0.5) // as if it had been trained
	var whole, adapters bytes.Buffer
	fmt.Println(tuned.WriteWeights(&whole), tuned.WriteAdapters(&adapters))
	fmt.Printf("%.1f %% of the bytes\n", 100*float64(adapters.Len())/float64(whole.Len()))

	other, err := gpt.New(graph.New(graph.Float32, 1), c, 1) // the same base
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(other.ReadAdapters(adapters.Bytes()))
	up, _ = other.Graph.Leaf("h.0.mlp.c_fc.lora_u")
	fmt.Println(up.Tensor().At(0))
	// Output:
	// <nil> <nil>
	// 4.5 % of the bytes
	// <nil>
	// 0.5
}

// Programs exchange adapters as folders of PEFT. A base can use many of them, one at a time.
func ExampleModel_Use() {
	c := gpt.Shakespeare()
	c.VocabSize, c.NLayer = 65, 1
	base, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	check(err)
	dir, err := os.MkdirTemp("", "adapter")
	check(err)
	defer os.RemoveAll(dir)

	c.LoraR, c.LoraAlpha, c.LoraTargets = 4, 8, []string{"c_attn"}
	tuned, err := gpt.New(graph.New(graph.Float32, 1), c, 1) // by FineTune, and trained
	check(err)
	check(tuned.SaveAdapter(dir+"/of-mine", "my/base"))

	a, err := gpt.OpenAdapter(dir + "/of-mine")
	check(err)
	model, err := base.Adapted(1, a)
	check(err)
	check(model.Use(a))
	fmt.Println(a.Base, model.Config.LoraTargets)
	check(model.Use(nil)) // the base again
	// Output: my/base [attn.c_attn]
}

// A model of bytes generates text, streamed up to a stop string. It is greedy, with a repetition penalty.
func ExampleModel_Generate() {
	var c gpt.Config
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = 8, 256, 1, 2, 8
	m, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		panic(err)
	}
	s := search.NewSampler(1)
	s.Temperature, s.RepetitionPenalty = 0, 1.2
	written := ""
	for piece, err := range m.Generate(context.Background(), text.Bytes{}, "ROMEO:", 50, s, "\n\n", "JULIET:") {
		if err != nil {
			panic(err)
		}
		written += piece // or print it
	}
	fmt.Println(len(written) > 0, strings.Contains(written, "\n\n"))
	// Output: true false
}
