package gpt_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
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
	verse := strings.Repeat("ROMEO:\nThe wheel goes round, the water pays no rent.\n\nJULIET:\nThen cross with me!\n\n", 20)
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
