package main

import (
	"context"
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// tuned is a model with trained adapters, with its losses in nats per character on the other text and on the old one.
type tuned struct {
	*gpt.Trainer
	beginning
	flags         options
	before, after [2]float64
}

// fineTune adds adapters to the model, and shows a sample and its losses before the training.
func (b beginning) fineTune(ctx context.Context, c gpt.Config, o options, stdout io.Writer) (*tuned, error) {
	c.Context = ctx
	trainer, err := gpt.FineTune(c, b.other, b.tokenizer, b.checkpoint)
	if err != nil {
		return nil, err
	}
	t := &tuned{Trainer: trainer, beginning: b, flags: o}
	total, trained := trainer.Config().Count()
	fmt.Fprintf(stdout, "base: %s\ntuned on: %s, rank %d, %d of %d parameters trained (%.1f %%)\n",
		b.checkpoint.Path, b.names[0], c.LoraR, trained, total, 100*float64(trained)/float64(total))
	if err := t.sample(ctx, "before", stdout); err != nil {
		return nil, err
	}
	t.before, err = t.losses(ctx)
	return t, err
}

// train trains the adapters, and shows a sample after the training.
func (t *tuned) train(ctx context.Context, stdout, stderr io.Writer) (err error) {
	metrics, err := program.OpenMetrics(t.Config().OutDir, 0)
	if err != nil {
		return err
	}
	log := &program.Log{Bar: program.NewBar(stderr, "tuning", 0, t.Config().MaxIters), Metrics: metrics}
	if err := base.Train(ctx, t.Trainer, log); err != nil {
		return err
	}
	if t.after, err = t.losses(ctx); err != nil {
		return err
	}
	return t.sample(ctx, "after", stdout)
}

// losses returns the losses over the entire validation splits of the other text and the old one.
func (t *tuned) losses(ctx context.Context) (l [2]float64, err error) {
	defer func() { t.Corpus = t.other }()
	for i, data := range []text.Corpus{t.other, t.old} {
		t.Corpus = data
		if l[i], err = t.EvaluateAll(ctx, nil); err != nil {
			return l, program.Cause(ctx, err)
		}
	}
	return l, nil
}

// sample prints text that the model generates.
func (t *tuned) sample(ctx context.Context, when string, w io.Writer) error {
	if t.flags.tokens <= 0 {
		return nil
	}
	s := search.NewSampler(t.Config().Seed)
	s.Temperature = 0.8
	fmt.Fprintf(w, "\n--- %s ---\n", when)
	_, _, err := base.Write(ctx, w, t.Model, t.tokenizer, t.flags.prompt, t.flags.tokens, s)
	fmt.Fprintln(w)
	return err
}
