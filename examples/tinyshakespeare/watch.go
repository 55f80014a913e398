package main

import (
	"context"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/live"
	"github.com/pedestrian-ml/pedestrian/gpt"
)

// watch is what -serve shows beside the metrics: behind every evaluation a sample, and what the heads look at in a text
// that they are not trained on. A nil one is not asked for.
type watch struct {
	*live.Server
	options options
	trainer *gpt.Trainer
	ids     []int
	tokens  []string
}

const (
	written = 300 // tokens of a sample at most
	looked  = 32  // tokens of the text
)

// newWatch begins to serve; the trainer is told later, when a port in use has ended nothing.
func newWatch(o options, dir string) (*watch, error) {
	if o.serve == "" {
		return nil, nil
	}
	s, err := live.Listen(o.serve, dir)
	return &watch{Server: s, options: o}, err
}

// begin takes the first tokens of the validation split for the text.
func (w *watch) begin(t *gpt.Trainer) error {
	if w == nil {
		return nil
	}
	w.trainer, w.ids = t, make([]int, min(looked, t.Config().BlockSize))
	if err := t.Corpus.Val().Read(w.ids, 0); err != nil {
		return err
	}
	for _, id := range w.ids {
		token, err := t.Tokenizer.Decode([]int{id})
		if err != nil {
			return err
		}
		w.tokens = append(w.tokens, token)
	}
	return nil
}

// look adds to what is shown. It takes nothing from the trainer's random numbers.
func (w *watch) look(ctx context.Context) error {
	if w == nil {
		return nil
	}
	t, c, o := w.trainer, w.trainer.Config(), w.options
	var sample strings.Builder
	_, _, err := base.Write(ctx, &sample, t.Model, t.Tokenizer, o.prompt, written, o.sampler(c.Seed), o.stop...)
	if err != nil {
		if ctx.Err() != nil { // a signal, of which others tell
			err = nil
		}
		return err
	}
	look := live.Look{Step: t.Done, Sample: sample.String(), Tokens: w.tokens}
	look.Layers, _ = base.Weights(t.Model, w.ids) // linear attention has none
	return look.Add(c.OutDir)
}

// Close ends what is served.
func (w *watch) Close() error {
	if w == nil {
		return nil
	}
	return w.Server.Close()
}
