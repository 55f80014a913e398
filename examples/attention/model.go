package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// opener returns the text. It opens it and reports on it once.
type opener func() (corpus.Source, error)

// model returns the model in the checkpoint, or one that it trains briefly.
func model(
	ctx context.Context, c gpt.Config, o options, args []string, open opener, stderr io.Writer,
) (*gpt.Model, text.Tokenizer, error) {
	cp, err := base.Decoder().Load(o.checkpoint, stderr)
	if errors.Is(err, checkpoint.ErrNone) {
		return trainBriefly(ctx, c, o, open, stderr)
	}
	if err != nil {
		return nil, nil, err
	}
	defer cp.Close()
	for _, name := range train.Fields(&c.Training, &c.Run, nil).Names() {
		if o.given[name] && name != "out_dir" && name != "seed" {
			return nil, nil, errors.Errorf("-%s: read by a training alone, and checkpoint %s needs none; "+
				"-checkpoint none trains one", name, cp.Path)
		}
	}
	if o.given["data"] && o.prompt != "" {
		return nil, nil, errors.Errorf("-data: neither checkpoint %s nor -prompt needs a text; leave one out", cp.Path)
	}
	m, tok, err := base.Open(graph.New(graph.Float32, c.Seed), cp, stderr)
	if err != nil {
		return nil, nil, err
	}
	given := m.Config
	if _, err := parse(&given, args, stderr); err != nil {
		return nil, nil, err
	}
	given.Seed = m.Config.Seed
	return m, tok, errors.Wrapf(cmp.Or(given.ResumeDiff(m.Config), given.ValidateModel()),
		"checkpoint %s is another network; -checkpoint none trains one", cp.Path)
}

// trainBriefly trains a model that is good enough to inspect. Errors that would occur after the training are returned
// before it.
func trainBriefly(
	ctx context.Context, c gpt.Config, o options, open opener, stderr io.Writer,
) (*gpt.Model, text.Tokenizer, error) {
	if err := base.Check(c); err != nil {
		return nil, nil, err
	}
	source, err := open()
	if err != nil {
		return nil, nil, err
	}
	t, err := base.New(ctx, c, source)
	if err != nil {
		return nil, nil, err
	}
	if _, err := o.encoded(t.Tokenizer, c.BlockSize); err != nil {
		return nil, nil, err
	}
	if _, err := base.Weights(t.Model, []int{0}); err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(stderr, "%s holds no checkpoint: training a model of %d layers for %d steps on %s\n",
		o.checkpoint, c.NLayer, c.MaxIters, source.Name)
	log := &program.Log{Bar: program.NewBar(stderr, "training", 0, c.MaxIters)}
	return t.Model, t.Tokenizer, base.Train(ctx, t, log)
}

// promptSize is the length of the default prompt; a longer one is hard to read in a picture.
const promptSize = 32

// encoded returns the tokens of the prompt.
func (o options) encoded(tok text.Tokenizer, context int) ([]int, error) {
	ids, err := tok.Encode(o.prompt)
	if err == nil && len(ids) > context {
		err = errors.Errorf("got %d characters, want at most block_size %d", len(ids), context)
	}
	return ids, errors.Wrap(err, "-prompt")
}

// promptIDs returns the tokens to analyse: the prompt, or the beginning of a speech of the validation split.
func (o options) promptIDs(m *gpt.Model, tok text.Tokenizer, open opener) ([]int, error) {
	context := m.Config.BlockSize
	if o.prompt != "" {
		return o.encoded(tok, context)
	}
	source, err := open()
	if err != nil {
		return nil, err
	}
	data, err := text.NewCorpus(source.Text, tok, context)
	if err != nil {
		return nil, errors.Wrapf(err, "%s: cannot supply a prompt; set -prompt", source.Name)
	}
	ids := make([]int, data.Val().Len())
	if err := data.Val().Read(ids, 0); err != nil {
		return nil, err
	}
	val, err := tok.Decode(ids)
	if err != nil {
		return nil, err
	}
	n := min(promptSize, context)
	if _, speech, found := strings.Cut(val, "\n\n"); found {
		if begin, err := tok.Encode(speech); err == nil && len(begin) >= n {
			ids = begin
		}
	}
	return ids[:n], nil
}
