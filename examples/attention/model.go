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

// opener finds the text, and says once what became of it.
type opener func() (corpus.Source, error)

// model returns the one in the checkpoint, or one that is trained briefly.
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
	asked := m.Config
	if _, err := parse(&asked, args, stderr); err != nil {
		return nil, nil, err
	}
	asked.Seed = m.Config.Seed
	return m, tok, errors.Wrapf(cmp.Or(asked.ResumeDiff(m.Config), asked.ValidateModel()),
		"checkpoint %s is another network; -checkpoint none trains one", cp.Path)
}

// trainBriefly trains a model that is good enough to look at. What would fail after the training fails before it.
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

// promptSize is the length of the default prompt: more is hard to read in a picture.
const promptSize = 32

// encoded returns the prompt as tokens.
func (o options) encoded(tok text.Tokenizer, context int) ([]int, error) {
	ids, err := tok.Encode(o.prompt)
	if err == nil && len(ids) > context {
		err = errors.Errorf("got %d characters, want at most block_size %d", len(ids), context)
	}
	return ids, errors.Wrap(err, "-prompt")
}

// promptIDs is what the model looks at: the prompt, or the beginning of a speech of the validation split.
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
		return nil, errors.Wrapf(err, "no prompt from %s, give one by -prompt", source.Name)
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
