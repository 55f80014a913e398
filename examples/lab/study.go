package main

import (
	"cmp"
	"context"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pkg/errors"
)

// study returns the study that the options describe, with its texts.
func (o *options) study(ctx context.Context, stderr io.Writer) (*lab.Study, error) {
	measures, err := o.chosenMeasures()
	if err != nil {
		return nil, err
	}
	s := &lab.Study{
		Name: o.name, Base: o.base, Arms: o.variants, Seeds: o.seeds, Budget: o.limit, Dir: o.dir, Tuning: o.tuning,
		Plan: o.plan, Measures: measures, Matters: o.matters, NoVerdict: o.seeds == 1 || o.command == "scale" ||
			o.command == "transfer",
		Target: o.target, Jobs: o.jobs, Part: o.part, Parts: o.processes,
	}
	o.decides(s)
	if len(o.tasks) > 0 {
		s.Texts, err = o.taskTexts()
	} else {
		s.Texts, err = o.texts(ctx, stderr)
	}
	return s, err
}

// texts reads the texts of -data.
func (o *options) texts(ctx context.Context, stderr io.Writer) (all []lab.Text, err error) {
	kind, err := text.KindOf(o.tokenizer, bpe.Kind())
	if err != nil {
		return nil, errors.Wrap(err, "-tokenizer")
	}
	paths := o.data
	if len(paths) == 0 {
		paths = list{""}
	}
	for _, path := range paths {
		source, err := corpus.Open(ctx, path, stderr)
		if err != nil {
			return nil, errors.WithMessage(err, "-data")
		}
		tok, err := kind.New(source.Text)
		if err != nil {
			return nil, errors.Wrap(err, source.Name)
		}
		c, err := source.Encode(tok, o.base.BlockSize)
		if err != nil {
			return nil, errors.WithMessage(err, "-data")
		}
		all = append(all, lab.Text{Name: source.Name, Corpus: c, Tokenizer: tok})
	}
	return all, nil
}

// most returns the largest number of trials that the study may need.
func (o *options) most(s *lab.Study) int {
	settings := 1
	for _, v := range s.Tuning.Grid {
		settings *= len(v.Values)
	}
	tuning := 0
	if settings > 1 {
		tuning = settings * cmp.Or(s.Tuning.Seeds, 1)
	}
	return len(s.Texts) * len(s.Arms) * (tuning + s.Seeds)
}
