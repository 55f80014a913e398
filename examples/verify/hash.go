package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/preference"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// recipe is a training whose numbers are the same on every machine.
type recipe struct {
	name string
	run  func(ctx context.Context, h hash.Hash, precision string) error
}

// recipes returns one training of each kind of objective and of network.
func recipes() []recipe {
	return []recipe{
		{"char", pretrained(200, func(c *gpt.Config) {})},
		{"modern", pretrained(40, func(c *gpt.Config) {
			shape := *c
			*c = gpt.Modern()
			c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.BatchSize = 2, 2, shape.NEmbd, shape.BlockSize, shape.BatchSize
			c.Dropout = 0.1
		})},
		{"gated_deltanet", pretrained(40, func(c *gpt.Config) { c.Attention = "gated_deltanet" })},
		{"moe", pretrained(40, func(c *gpt.Config) {
			c.MLP, c.Experts.NumExperts, c.Experts.NumExpertsPerTok = "moe", 4, 2
		})},
		{"encoder_decoder", translated},
		{"grpo", rewarded},
	}
}

// hashed writes a line for each recipe and precision.
func hashed(ctx context.Context, w io.Writer) error {
	for _, r := range recipes() {
		for _, precision := range graph.Precisions() {
			h := sha256.New()
			if err := r.run(ctx, h, precision); err != nil {
				return errors.Wrapf(err, "%s in %s", r.name, precision)
			}
			if _, err := fmt.Fprintf(w, "%-16s %-8s %x\n", r.name, precision, h.Sum(nil)); err != nil {
				return err
			}
		}
	}
	return nil
}

// verses is a text that every machine has: what some animals eat, drawn without a library.
func verses() string {
	var b strings.Builder
	animals, meals := []string{"a goat", "a cow", "the old mare", "no hen"}, []string{"hay", "oats", "grass and clover"}
	state := uint32(1)
	next := func(n int) int {
		state = state*1664525 + 1013904223
		return int(state>>16) % n
	}
	for range 400 {
		fmt.Fprintf(&b, "%s eats %s\n", animals[next(len(animals))], meals[next(len(meals))])
	}
	return b.String()
}

// pretrained returns the training of a small model for some steps, with a change of the default settings.
func pretrained(steps int, change func(c *gpt.Config)) func(context.Context, hash.Hash, string) error {
	return func(ctx context.Context, h hash.Hash, precision string) error {
		t, err := trainer(steps, precision, change)
		if err != nil {
			return err
		}
		if err := stepped(ctx, h, steps, t.Step); err != nil {
			return err
		}
		e, err := t.Evaluate(ctx)
		if err != nil {
			return err
		}
		numbers(h, e.Train, e.Val)
		files, err := t.Files()
		if err != nil {
			return err
		}
		if err := tensors(h, files); err != nil {
			return err
		}
		for piece, err := range t.Model.Generate(ctx, t.Tokenizer, "a ", 60, search.NewSampler(1)) {
			if err != nil {
				return err
			}
			io.WriteString(h, piece)
		}
		return nil
	}
}

func trainer(steps int, precision string, change func(c *gpt.Config)) (*gpt.Trainer, error) {
	verses := verses()
	tok, err := text.NewCharacters(verses)
	if err != nil {
		return nil, err
	}
	c := gpt.Shakespeare()
	c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.BatchSize = 2, 2, 32, 32, 4
	change(&c)
	c.MaxIters, c.LRDecayIters, c.WarmupIters, c.EvalIters, c.Precision = steps, steps, 5, 4, precision
	c.VocabSize = tok.Size()
	corpus, err := text.NewCorpus(verses, tok, c.BlockSize)
	if err != nil {
		return nil, err
	}
	return gpt.NewTrainer(c, corpus, tok)
}

// stepped trains, and hashes the losses and the norms of the gradients.
func stepped(ctx context.Context, h hash.Hash, steps int, step func() (train.Progress, error)) error {
	for range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, err := step()
		if err != nil {
			return err
		}
		numbers(h, p.Loss, p.Norm)
	}
	return nil
}

// numbers hashes the bits of numbers.
func numbers(h hash.Hash, list ...float64) {
	for _, x := range list {
		fmt.Fprintf(h, "%x ", math.Float64bits(x))
	}
}

// tensors hashes the weights and the moments of a checkpoint.
func tensors(h hash.Hash, files []checkpoint.File) error {
	for _, f := range files {
		if strings.HasSuffix(f.Name, ".safetensors") {
			if err := f.Write(h); err != nil {
				return err
			}
		}
	}
	return nil
}

// countdowns are pairs of a number and the numbers below it.
type countdowns struct{}

func (countdowns) Len() int { return 8 }

func (countdowns) Pair(i int) (p seq2seq.Pair, err error) {
	p.Source = []int{seq2seq.Hidden + 1 + i}
	for n := i - 1; n >= 0; n-- {
		p.Target = append(p.Target, seq2seq.Hidden+1+n)
	}
	return p, nil
}

// translated trains an encoder and a decoder.
func translated(ctx context.Context, h hash.Hash, precision string) error {
	const steps = 40
	c := seq2seq.Config{
		SourceSize: 1, TargetSize: 8, SourceVocab: 12, TargetVocab: 12,
		Stack: parts.Stack{NLayer: 2, NHead: 2, NEmbd: 32, Dropout: 0.1},
		Training: train.Training{
			BatchSize: 4, GradientAccumulationSteps: 1, LearningRate: 0.01, Beta1: 0.9, Beta2: 0.98, Kernels: true,
			Precision: precision, LabelSmoothing: 0.1,
		},
		Run: train.Run{MaxIters: steps, EvalInterval: steps, EvalIters: 1, LogInterval: 1},
	}
	t, err := seq2seq.NewTrainer(c, countdowns{})
	if err != nil {
		return err
	}
	if err := stepped(ctx, h, steps, t.Step); err != nil {
		return err
	}
	loss, err := t.Evaluate(ctx, countdowns{})
	if err != nil {
		return err
	}
	numbers(h, loss)
	return train.WriteWeights(h, t.Model.Graph)
}

// rewarded tunes a model by GRPO: short answers are rewarded.
func rewarded(ctx context.Context, h hash.Hash, precision string) error {
	t, err := trainer(20, precision, func(c *gpt.Config) {})
	if err != nil {
		return err
	}
	if err := stepped(ctx, h, 20, t.Step); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "hash")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := t.Save(dir); err != nil {
		return err
	}
	cp, err := checkpoint.Load(dir)
	if err != nil {
		return err
	}
	defer cp.Close()
	source, err := gpt.SourceOf(cp)
	if err != nil {
		return err
	}
	c := gpt.LoRATuning()
	c.BatchSize, c.GradientAccumulationSteps, c.LearningRate, c.Precision = 4, 1, 1e-2, precision
	prompt, err := t.Tokenizer.Encode("a goat eats ")
	if err != nil {
		return err
	}
	group := preference.Group{Size: 4, Length: 6, Clip: 0.2, Beta: 0.04,
		Score: func(_ text.Prompt, answer string) (float64, error) { return -float64(strings.Count(answer, "a")), nil }}
	g, err := preference.NewGRPO(c, group, []text.Prompt{{Tokens: prompt}}, t.Tokenizer, source)
	if err != nil {
		return err
	}
	err = stepped(ctx, h, 8, func() (train.Progress, error) {
		p, round, err := g.Step(ctx)
		numbers(h, round.Reward, round.Length)
		return p, err
	})
	if err != nil {
		return err
	}
	files, err := g.TuningFiles(dir)
	if err != nil {
		return err
	}
	return tensors(h, files)
}
