package gpt_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// A model answers multiple-choice questions by the likeliest choice, here per byte.
func ExampleRanker() {
	model, tok, err := gpt.Open("out")
	check(err)
	questions, err := chat.LoadQuestions("questions.jsonl", tok, chat.Template{})
	check(err)
	ranker, err := gpt.NewRanker(model)
	check(err)
	right := 0
	for _, q := range questions {
		r, err := ranker.Rank(q)
		check(err)
		if gpt.Likeliest(r.PerByte) == q.Answer {
			right++
		}
	}
	fmt.Printf("%d of %d\n", right, len(questions))
}

// A run evaluates, saves the best model, and ends when the loss is low enough.
func ExampleTrainer_Run() {
	out, err := os.MkdirTemp("", "out")
	check(err)
	defer os.RemoveAll(out)
	dir, err := checkpoint.Open(out) // locked until Close
	check(err)
	defer dir.Close()

	c := small()
	data, tok := corpus(c)
	t, err := gpt.NewTrainer(c, data, tok)
	check(err)
	ctx := context.Background()
	for p, err := range t.Run(ctx) {
		check(err)
		if p.Step%10 > 0 {
			continue
		}
		best := t.Best
		e, err := t.Evaluate(ctx)
		check(err)
		if e.Val < best {
			files, err := t.Files()
			check(err)
			check(dir.Save(p.Step, files))
		}
		if e.Val < 2.86 {
			break
		}
	}
	cp, err := checkpoint.Load(out)
	check(err)
	defer cp.Close()
	fmt.Println("stopped after step", t.Done, "of", c.MaxIters, "with the checkpoint of step", cp.Step)
	// Output: stopped after step 20 of 40 with the checkpoint of step 20
}

// A resumed run ends with the bits of one that was never interrupted.
func ExampleResume() {
	out, err := os.MkdirTemp("", "out")
	check(err)
	defer os.RemoveAll(out)
	c := small()
	data, tok := corpus(c)
	uninterrupted, err := gpt.NewTrainer(c, data, tok)
	check(err)
	for p, err := range uninterrupted.Run(context.Background()) {
		check(err)
		if p.Step == 25 {
			check(uninterrupted.Save(out))
		}
	}

	cp, err := checkpoint.Load(out, gpt.Fits())
	check(err)
	defer cp.Close()
	resumed, err := gpt.Resume(c, data, tok, cp)
	check(err)
	fmt.Println("resumed after step", resumed.Done)
	for _, err := range resumed.Run(context.Background()) {
		check(err)
	}
	same := true
	for i, p := range uninterrupted.Model.Params() {
		q := resumed.Model.Params()[i]
		for j := range p.Tensor().Len() {
			same = same && p.Tensor().At(j) == q.Tensor().At(j)
		}
	}
	fmt.Println("the same bits:", same)
	// Output:
	// resumed after step 25
	// the same bits: true
}

// A model is read on a graph with settings of the program's own, here in float64.
func ExampleLoadModel() {
	out, err := os.MkdirTemp("", "out")
	check(err)
	defer os.RemoveAll(out)
	c := small()
	data, tok := corpus(c)
	t, err := gpt.NewTrainer(c, data, tok)
	check(err)
	check(t.Save(out))
	cp, err := checkpoint.Load(out, gpt.Fits())
	check(err)
	defer cp.Close()
	m, err := gpt.LoadModel(graph.New(graph.Float64, 1), cp)
	check(err)
	fmt.Println(m.Config.NLayer == c.NLayer)
	// Output: true
}

// Every row of the batches walks through the text, and each step continues from the states of the last one.
func ExampleConfig_carry() {
	c := small()
	c.Attention, c.Position, c.Carry = "gated_deltanet", "none", true
	data, tok := corpus(c)
	t, err := gpt.NewTrainer(c, data, tok)
	check(err)
	p, err := t.Step()
	check(err)
	fmt.Println(p.Step, p.Tokens)
	// Output:
	// 1 24
}

// Embeddings and the lower block are frozen: they are neither differentiated nor updated.
func ExampleConfig_frozen() {
	c := small()
	c.Frozen = train.Frozen{"w[tp]e.*", "h.0.*"}
	total, trainable := c.Count()
	fmt.Println(trainable, "of", total, "parameters are trained")
	c.Frozen = train.Frozen{"h.7.attn.*"}
	fmt.Println(c.Validate())
	// Output:
	// 3120 of 6720 parameters are trained
	// frozen: got h.7.attn.*, which is none of the 15 parameters to train: the nearest are h.0.attn.c_attn.weight, h.0.attn.c_proj.weight, h.1.attn.c_attn.weight, h.1.attn.c_proj.weight
}

// A user-defined loss and a hook for gradients: the logits are kept small (the z-loss of Chowdhery et al. 2022), and
// the gradient of the embedding is halved and checked before clipping.
func ExampleConfig_hooks() {
	c := small()
	c.Hooks.Loss = func(logits, targets graph.Expr) graph.Expr {
		entropy := nn.NewCrossEntropy(logits.Graph().Root().Sub("loss")).Forward(logits, targets)
		z := logits.LogSumExp() // (n, 1)
		return entropy.Add(z.Square().SumAll().Scale(1e-4 / float64(z.Shape()[0])))
	}
	largest := 0.0
	c.Hooks.Gradients = func(step int, grads []train.Named) error {
		for _, g := range grads {
			if g.Name != "wte.weight" {
				continue
			}
			for i := range g.Len() {
				g.Set(i, g.At(i)/2)
				largest = max(largest, math.Abs(g.At(i)))
			}
		}
		return nil
	}
	trains(c)
	fmt.Println("finite:", largest > 0 && largest < 10)
	// Output:
	// the loss falls
	// finite: true
}

// trapezoid warms up for a tenth of the steps, stays, and cools down over the last fifth (Hu et al. 2024).
func trapezoid(highest float64, steps int) func(step int) float64 {
	return func(step int) float64 {
		up, down := float64(step+1)/(0.1*float64(steps)), float64(steps-step)/(0.2*float64(steps))
		return highest * min(1, up, down)
	}
}

// A schedule is a function of the step. It is in no checkpoint: pass it again to resume.
func ExampleConfig_ownSchedule() {
	c := small()
	c.Hooks.Rate = trapezoid(c.LearningRate, c.MaxIters)
	data, tok := corpus(c)
	t, err := gpt.NewTrainer(c, data, tok)
	check(err)
	for range 3 {
		p, err := t.Step()
		check(err)
		fmt.Printf("step %d: rate %.4f\n", p.Step, p.LR)
	}
	// Output:
	// step 1: rate 0.0025
	// step 2: rate 0.0050
	// step 3: rate 0.0075
}

// The learning rates of a run are known before it, for example to plot them.
func ExampleConfig_RateAt() {
	c := small()
	fmt.Printf("after the warm-up %.4f, in the middle %.4f\n", c.RateAt(c.WarmupIters), c.RateAt(c.MaxIters/2))
	// Output:
	// after the warm-up 0.0100, in the middle 0.0059
}

// small returns a run of forty steps of a tiny network.
func small() gpt.Config {
	c := gpt.Shakespeare()
	c.BlockSize, c.BatchSize, c.NLayer, c.NHead, c.NEmbd, c.VocabSize = 8, 3, 2, 4, 16, 23
	c.LearningRate, c.WarmupIters, c.MaxIters, c.LRDecayIters = 1e-2, 4, 40, 40
	return c
}

// corpus returns a verse in characters.
func corpus(c gpt.Config) (text.Corpus, text.Tokenizer) {
	s := strings.Repeat("The wheel goes round, the water pays no rent, and what I grind by day by night is spent. ", 4)
	tok, err := text.NewCharacters(s)
	check(err)
	data, err := text.NewCorpus(s, tok, c.BlockSize)
	check(err)
	return data, tok
}

// trains prints whether the loss of a run falls.
func trains(c gpt.Config) {
	data, tok := corpus(c)
	t, err := gpt.NewTrainer(c, data, tok)
	check(err)
	var losses []float64
	for p, err := range t.Run(context.Background()) {
		check(err)
		losses = append(losses, p.Loss)
	}
	if losses[len(losses)-1] < 0.9*losses[0] {
		fmt.Println("the loss falls")
	}
}

// The Example works: the loss falls, there is a checkpoint, and the model generates text.
func TestExample(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for a second")
	}
	t.Chdir(t.TempDir())
	verse := strings.Repeat(
		"ROMEO:\nThe wheel goes round, the water pays no rent.\n\nJULIET:\nThen cross with me!\n\n", 20,
	)
	if err := os.WriteFile("input.txt", []byte(verse), 0o644); err != nil {
		t.Fatal(err)
	}
	said, err := os.Create("said")
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = said
	func() {
		defer func() { os.Stdout = stdout }()
		Example()
	}()
	data, err := os.ReadFile("said")
	if err != nil {
		t.Fatal(err)
	}
	steps, text, _ := strings.Cut(string(data), "step 20: loss ")
	var first, last float64
	if _, err := fmt.Sscanf(steps, "step 1: loss %f", &first); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	if _, err := fmt.Sscanf(text, "%f", &last); err != nil || !(last < first-0.5) {
		t.Errorf("the loss went from %v to %v (%v), want it to fall", first, last, err)
	}
	if _, err := os.Stat("out/step-00000020/manifest.json"); err != nil {
		t.Error(err)
	}
	if _, written, _ := strings.Cut(text, "\n"); len(written) != 200 || !strings.Contains(written, "e") {
		t.Errorf("wrote %d letters, want 200: %q", len(written), written)
	}
}

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

// A new kind of attention is one type and one entry: configurations, flags and checkpoints use its name, and its
// option's.
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
		family, err := published.ModelType(c)
		fmt.Println(c.NLayer, "blocks,", total, "parameters,", family, err)
	}
	// Output:
	// 6 blocks, 81912576 parameters, gpt2 <nil>
	// 12 blocks, 124439808 parameters, gpt2 <nil>
	// 30 blocks, 134515008 parameters, llama <nil>
	// 6 blocks, 15191712 parameters, llama <nil>
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

// A recipe is a Config: its parts have names, and each can be replaced by another.
func ExampleModern() {
	c := gpt.Modern()
	c.VocabSize = 65
	parameters, _ := c.Count()
	fmt.Println(c.Position, c.Norm, c.MLP, c.With.Get("short_conv"), c.Optimizer, parameters)
	// Output: rope rmsnorm swiglu canon_ac muon 804096
}

// A LLaMA of the same size is exported to Hugging Face's form and to GGUF files.
func ExampleLLaMA() {
	c := gpt.LLaMA()
	c.VocabSize = 65
	parameters, _ := c.Count()
	family, err := published.ModelType(c)
	fmt.Println(parameters, family, err)
	// Output: 812288 llama <nil>
}

// Parts without a field of their own are set by the key of their kind, which is also the flag.
func ExampleConfig_with() {
	c := gpt.Shakespeare()
	c.VocabSize = 65
	plain, _ := c.Count()
	c.With.Set("xsa", "learned")
	learned, _ := c.Count()
	fmt.Println(c.With.Get("xsa"), learned-plain, "numbers λ, one for each head")
	// Output: learned 16 numbers λ, one for each head
}

// A mixture of eight experts has the work of two, and the parameters of eight.
func ExampleConfig_Active() {
	c := gpt.Shakespeare()
	c.VocabSize, c.NInner, c.MLP = 65, 172, "moe"
	all, _ := c.Count()
	active := c.Active()
	c.MLP, c.NInner = "swiglu", 344
	dense, _ := c.Count()
	fmt.Println(all, active, dense) // the router has 128·8 numbers in each of four blocks
	// Output: 2397440 812288 808192
}
