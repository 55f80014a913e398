package gpt_test

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
)

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
	// the loss falls, and it writes
	// finite: true
}

// signs is a user-defined optimizer, that of Bernstein et al. 2018: θ ← θ − η·sign(g). Micro-batches, clipping, ranks and
// hooks are the same for every optimizer.
type signs struct{}

func (signs) State() (optim.State, error) { return optim.State{Name: "signs"}, nil }

func (signs) Step(s optim.Step) {
	for i := range s.W.Len() {
		s.W.Set(i, s.W.At(i)-s.Rate*math.Copysign(1, s.G.At(i)))
	}
}

// An optimizer is a part like any other: checkpoints contain its name.
func ExampleConfig_optimizer() {
	c := small()
	c.Optimizer, c.LearningRate, c.MinLR = "signs", 2e-3, 1e-3
	c.Parts.Optimizers = []parts.Optimizer{{
		Name: "signs",
		New:  func(train.Training) optim.Rule { return signs{} },
	}}
	trains(c)
	// Output: the loss falls, and it writes
}
