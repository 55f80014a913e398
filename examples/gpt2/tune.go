package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/folder"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/peft"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// tuneFlags adds the flags of the command tune.
func (o *options) tuneFlags(fs *program.FlagSet) {
	o.dataFlag(fs, "text to tune on, or JSON lines of prompts and completions, or of messages")
	o.tuningFlags(fs)
	fs.Often("model data full template block_size batch_size gradient_accumulation_steps max_iters learning_rate " +
		"lora_r lora_alpha lora_targets eval_interval patience ema dropout seed threads out_dir resume")
}

// source is a model to tune, with its tokenizer.
type source struct {
	gpt.Source
	tok      text.Tokenizer
	template chat.Template
}

// merged returns the model with its adapter, if there is one, merged into its weights. The weights of a GGUF file are
// read into numbers.
func (s source) merged(o options) (m *gpt.Model, err error) {
	files := s.Source
	if o.config.BlockSize > 0 {
		if files, err = s.Crop(o.config.BlockSize); err != nil {
			return nil, err
		}
	}
	files.Config.DrawnTokens = s.tok.Size()
	m, err = files.Model(graph.New(graph.Float32, 1))
	if err != nil || o.adapter == "" {
		return m, err
	}
	if m, err = o.adapted(m); err != nil {
		return nil, err
	}
	m.Merge()
	return m.Plain(1)
}

// note says that matrices of a GGUF file, which are packed, were read into numbers.
func (s source) note() string {
	if filepath.Ext(s.Checkpoint.Path) != ".gguf" {
		return ""
	}
	return ", its packed matrices as float32"
}

// source opens the files of the model.
func (o options) source(stderr io.Writer) (s source, err error) {
	cp, err := folder.Kind("").Load(o.model, stderr)
	if err != nil {
		return s, err
	}
	if s.Source, err = published.SourceOf(cp); err == nil {
		s.tok, err = published.LoadTokenizer(cp)
	}
	if err == nil {
		s.template, err = folder.Template(cp, o.template)
	}
	if err != nil {
		cp.Close()
	}
	return s, err
}

// begin begins a training.
func begin(ctx context.Context, o options, stdout, stderr io.Writer) error {
	return o.begin(ctx, resumed{}, stdout, stderr)
}

// begin begins a training, or continues one.
func (o options) begin(ctx context.Context, from resumed, stdout, stderr io.Writer) error {
	if o.task == "train" {
		if err := base.Check(o.config); err != nil {
			return err
		}
	}
	if from.saved == nil {
		if err := vacantForRun(o.config.OutDir); err != nil {
			return err
		}
	}
	o.config.Context = ctx
	if o.task == "train" {
		return scratch(ctx, o, from, stdout, stderr)
	}
	s, err := o.source(stderr)
	if err != nil {
		return err
	}
	defer s.Checkpoint.Close()
	return map[string]func(context.Context, options, source, resumed, io.Writer, io.Writer) error{
		"tune": tune, "dpo": dpo, "grpo": grpo,
	}[o.task](ctx, o, s, from, stdout, stderr)
}

// tuned returns the part of a task that all trainings on top of a model share. With -full it stores the model,
// otherwise the adapter, which names the model as it was given.
func (o options) tuned(s source, from resumed, t *gpt.Trainer) objective {
	name := o.model
	if from.saved != nil && !o.given["model"] {
		name = from.recipe.Model
	}
	return objective{
		files:   func() ([]checkpoint.File, error) { return t.TuningFiles(s.Checkpoint.Path) },
		restore: t.Restore,
		store: func(m *gpt.Model, dir string) error {
			if o.full {
				return save(m, s.tok, dir, s.template)
			}
			return peft.Save(dir, m, name)
		},
	}
}

// tune trains adapters of a model, or all of its weights, on a text.
func tune(ctx context.Context, o options, s source, from resumed, stdout, stderr io.Writer) error {
	data, name, err := o.texts(ctx, s, stderr)
	if err != nil {
		return err
	}
	t, err := gpt.FineTune(o.config, data, s.tok, s.Source)
	if err != nil {
		return err
	}
	return onText(ctx, o, t, o.tuned(s, from, t), name, from, stdout, stderr)
}

// mergeFlags adds the flags of the command merge.
func (o *options) mergeFlags(fs *program.FlagSet) {
	o.modelFlags(fs, true)
	fs.Group("output", "the output", func(fs *flag.FlagSet) {
		fs.StringVar(&o.config.OutDir, "out_dir", o.config.OutDir, "folder to write, without adapters")
		o.blockFlag(fs)
	})
	fs.Old("merge", "")
}

// merge saves a model with its adapter merged.
func merge(_ context.Context, o options, stdout, stderr io.Writer) error {
	if err := vacant(o.config.OutDir); err != nil {
		return err
	}
	s, err := o.source(stderr)
	if err != nil {
		return err
	}
	defer s.Checkpoint.Close()
	m, err := s.merged(o)
	if err != nil {
		return err
	}
	if err := save(m, s.tok, o.config.OutDir, s.template); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "saved %s with %s inside to %s%s\n", o.model, o.adapter, o.config.OutDir, s.note())
	return err
}
