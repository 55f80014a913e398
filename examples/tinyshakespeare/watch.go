package main

import (
	"context"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/live"
	"github.com/pedestrian-ml/pedestrian/gpt"
)

// watch holds what -serve shows in addition to the metrics: after every evaluation a sample, and the attention on a
// text outside the training data. It is nil without -serve.
type watch struct {
	*live.Server
	options options
	trainer *gpt.Trainer
	ids     []int
	tokens  []string
}

const (
	written = 300 // largest number of tokens in a sample
	looked  = 32  // tokens of the text
)

// newWatch starts the server before the trainer exists, so that a port in use is detected early.
func newWatch(o options, dir string) (*watch, error) {
	if o.serve == "" {
		return nil, nil
	}
	s, err := live.Listen(o.serve, dir)
	return &watch{Server: s, options: o}, err
}

// begin sets the trainer and takes the first tokens of the validation split as the text.
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

// look adds a Look to the run. It does not use the trainer's random numbers.
func (w *watch) look(ctx context.Context) error {
	if w == nil {
		return nil
	}
	t, c, o := w.trainer, w.trainer.Config(), w.options
	var sample strings.Builder
	sampler := o.sampling.Sampler(c.Seed)
	_, _, err := base.Write(ctx, &sample, t.Model, t.Tokenizer, o.prompt, written, sampler, o.stop...)
	if err != nil {
		if ctx.Err() != nil { // a signal, which is reported elsewhere
			err = nil
		}
		return err
	}
	look := live.Look{Step: t.Done, Sample: sample.String(), Tokens: w.tokens}
	look.Layers, _ = base.Weights(t.Model, w.ids) // linear attention has none
	return look.Add(c.OutDir)
}

// Close stops the server.
func (w *watch) Close() error {
	if w == nil {
		return nil
	}
	return w.Server.Close()
}
