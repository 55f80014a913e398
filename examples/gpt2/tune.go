package main

import (
	"context"
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// tune trains adapters of a model, or all of its weights, and saves them in out_dir.
func tune(ctx context.Context, o options, stdout, stderr io.Writer) error {
	cp, err := base.Folder().Load(o.model, stderr)
	if err != nil {
		return err
	}
	defer cp.Close()
	tok, err := gpt.LoadTokenizer(cp)
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
	return fit(ctx, o, t, name, stdout, stderr, func(m *gpt.Model, dir string) error {
		if o.full {
			return save(m, tok, dir)
		}
		return m.SaveAdapter(dir, o.model)
	})
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
