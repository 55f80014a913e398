package main

import (
	"context"
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// tune trains adapters of a model, or all of its weights, and saves them in out_dir.
func tune(ctx context.Context, o options, stdout, stderr io.Writer) error {
	cp, err := base.Folder().Load(o.model, stderr)
	if err != nil {
		return err
	}
	defer cp.Close()
	tok, err := base.Tokenizer(cp, stderr)
	if err != nil {
		return err
	}
	if err := vacant(o.config.OutDir); err != nil {
		return err
	}
	data, name, err := o.texts(ctx, cp, tok, stderr)
	if err != nil {
		return err
	}
	o.config.Context = ctx
	t, err := gpt.FineTune(o.config, data, tok, cp)
	if err != nil {
		return err
	}
	return fit(ctx, t, name, stdout, stderr, func() error {
		if o.full {
			return save(t.Model, tok, o.config.OutDir)
		}
		return t.Model.SaveAdapter(o.config.OutDir, o.model)
	})
}

// fit trains until max_iters or Ctrl-C, and saves.
func fit(ctx context.Context, t *gpt.Trainer, name string, stdout, stderr io.Writer, save func() error) error {
	all, trained := t.Config().Count()
	fmt.Fprintf(stdout, "%s parameters, %s trained, on %s: %s tokens, and %s to validate on\n",
		program.Thousands(all), program.Thousands(trained), name,
		program.Thousands(t.Corpus.Train().Len()), program.Thousands(t.Corpus.Val().Len()))
	bytes, err := text.BytesPerToken(t.Corpus.Val(), t.Tokenizer)
	if err != nil {
		return err
	}
	before, err := validate(ctx, t, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "step 0: val loss %.4f, %.4f bits per byte\n", before, text.BitsPerByte(before, bytes))
	log := &program.Log{Bar: program.NewBar(stderr, "training", 0, t.Config().MaxIters)}
	stopped := base.Train(ctx, t, log)
	if stopped != nil && (ctx.Err() == nil || t.Done == 0) {
		return stopped
	}
	if err := save(); err != nil {
		return err
	}
	if stopped != nil {
		return errors.WithMessagef(stopped, "saved to %s as it was after step %d", t.Config().OutDir, t.Done)
	}
	after, err := validate(ctx, t, stderr)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "step %d: val loss %.4f, %.4f bits per byte\nsaved to %s\n",
		t.Done, after, text.BitsPerByte(after, bytes), t.Config().OutDir)
	return err
}

// validate returns the loss over the entire validation split.
func validate(ctx context.Context, t *gpt.Trainer, stderr io.Writer) (float64, error) {
	bar := program.NewBar(stderr, "validating", 0, (t.Corpus.Val().Len()-1)/t.Config().BlockSize)
	defer bar.Close()
	loss, err := t.EvaluateAll(ctx, func(done, _ int) { bar.Draw(done) })
	return loss, program.Cause(ctx, err)
}

// merge saves a model with its adapter merged.
func merge(o options, m *gpt.Model, tok text.Tokenizer, stdout io.Writer) error {
	if err := vacant(o.config.OutDir); err != nil {
		return err
	}
	m.Merge()
	plain, err := m.Plain(1)
	if err != nil {
		return err
	}
	if err := save(plain, tok, o.config.OutDir); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "saved %s with %s inside to %s\n", o.model, o.adapter, o.config.OutDir)
	return err
}
