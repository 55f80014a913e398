package main

import (
	"context"
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// source is a model to tune.
type source struct {
	*checkpoint.Checkpoint
	tok      text.Tokenizer
	template text.Template
}

// source opens the model, unless out_dir cannot take the tuned one.
func (o options) source(stderr io.Writer) (s source, err error) {
	if err := vacant(o.config.OutDir); err != nil {
		return s, err
	}
	if s.Checkpoint, err = base.Folder().Load(o.model, stderr); err != nil {
		return s, err
	}
	if s.tok, err = gpt.LoadTokenizer(s.Checkpoint); err == nil {
		s.template, err = gpt.LoadTemplate(s.Checkpoint)
	}
	if err != nil {
		s.Close()
	}
	return s, err
}

// store saves a tuned model: all of it, or its adapter.
func (o options) store(s source, m *gpt.Model, dir string) error {
	if o.full {
		return save(m, s.tok, dir, s.template)
	}
	return m.SaveAdapter(dir, o.model)
}

// tune trains adapters of a model, or all of its weights, and saves them in out_dir.
func tune(ctx context.Context, o options, stdout, stderr io.Writer) error {
	s, err := o.source(stderr)
	if err != nil {
		return err
	}
	defer s.Close()
	data, name, err := o.texts(ctx, s.Checkpoint, s.tok, stderr)
	if err != nil {
		return err
	}
	o.config.Context = ctx
	t, err := gpt.FineTune(o.config, data, s.tok, s.Checkpoint)
	if err != nil {
		return err
	}
	return fit(ctx, o, t, name, stdout, stderr, func(m *gpt.Model, dir string) error { return o.store(s, m, dir) })
}

// merge saves a model with its adapter merged.
func merge(o options, m *gpt.Model, tok text.Tokenizer, stdout, stderr io.Writer) error {
	if err := vacant(o.config.OutDir); err != nil {
		return err
	}
	cp, err := base.Folder().Load(o.model, stderr)
	if err != nil {
		return err
	}
	defer cp.Close()
	template, err := gpt.LoadTemplate(cp)
	if err != nil {
		return err
	}
	m.Merge()
	plain, err := m.Plain(1)
	if err != nil {
		return err
	}
	if err := save(plain, tok, o.config.OutDir, template); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "saved %s with %s inside to %s\n", o.model, o.adapter, o.config.OutDir)
	return err
}
