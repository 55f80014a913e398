package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/pkg/errors"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// tuned is a model with trained adapters, and its losses in nats per character on the other text and on the old one.
type tuned struct {
	*gpt.Trainer
	beginning
	flags         options
	before, after [2]float64
}

// fineTune trains the adapters, with losses and samples before and after.
func (b beginning) fineTune(ctx context.Context, c gpt.Config, o options, stdout, stderr io.Writer) (*tuned, error) {
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
	if t.before, err = t.losses(ctx); err != nil {
		return nil, err
	}
	if err := base.Train(ctx, trainer, "tuning", stderr); err != nil {
		return nil, err
	}
	if t.after, err = t.losses(ctx); err != nil {
		return nil, err
	}
	return t, t.sample(ctx, "after", stdout)
}

// losses are those over the whole validation splits of the other text and the old one.
func (t *tuned) losses(ctx context.Context) (l [2]float64, err error) {
	defer func() { t.Corpus = t.other }()
	for i, data := range []*text.Corpus{t.other, t.old} {
		t.Corpus = data
		if l[i], err = t.EvaluateAll(ctx, nil); err != nil {
			return l, stopped(ctx, err)
		}
	}
	return l, nil
}

// stopped names the signal, if it is one that ended what failed.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// sample lets the model write.
func (t *tuned) sample(ctx context.Context, when string, w io.Writer) error {
	if t.flags.tokens <= 0 {
		return nil
	}
	prompt, err := t.tokenizer.Encode(t.flags.prompt)
	if err != nil {
		return errors.Wrap(err, "-prompt")
	}
	d, err := gpt.NewDecoder(t.Model)
	if err != nil {
		return err
	}
	s := gpt.NewSampler(t.Config().Seed)
	s.Temperature = 0.8
	written := prompt
	for id, err := range d.Generate(ctx, prompt, t.flags.tokens, s) {
		if err != nil {
			return stopped(ctx, err)
		}
		written = append(written, id)
	}
	words, err := t.tokenizer.Decode(written)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n--- %s ---\n%s\n", when, words)
	return err
}

// finish saves the adapters, merges them, saves the merged model, and measures what was saved.
func (t *tuned) finish(ctx context.Context, stdout io.Writer) error {
	dir := t.Config().OutDir
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	adapter, merged := filepath.Join(dir, "adapter.safetensors"), filepath.Join(dir, "merged")
	f, err := os.Create(adapter)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := t.Model.WriteAdapters(f); err != nil {
		return err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	t.Model.Merge()
	plain, err := t.Model.Plain(1)
	if err != nil {
		return err
	}
	files, err := plain.Files(t.tokenizer)
	if err != nil {
		return err
	}
	if err := save(merged, t.Done, files); err != nil {
		return err
	}
	loss, err := t.reloaded(ctx, merged)
	if err != nil {
		return err
	}
	weights, err := t.checkpoint.File("model.safetensors")
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nloss, nats per character\tbefore\tafter\tmerged\tmerged − after\n")
	for i, name := range t.names {
		fmt.Fprintf(table, "%s\t%.4f\t%.4f\t%.4f\t%+.1e\n", name, t.before[i], t.after[i], loss[i], loss[i]-t.after[i])
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "forgotten of the old text: %+.4f nats per character\n\n", t.after[1]-t.before[1])
	_, err = fmt.Fprintf(stdout, "%s: %d bytes, %.1f %% of the base's %d\n%s: the model with the adapters merged, an ordinary checkpoint\n",
		adapter, size, 100*float64(size)/float64(len(weights)), len(weights), merged)
	return err
}

// reloaded is the losses of the merged model as it was saved: without adapters.
func (t *tuned) reloaded(ctx context.Context, path string) (l [2]float64, err error) {
	cp, err := checkpoint.Load(path)
	if err != nil {
		return l, err
	}
	c := t.Config()
	c.LoraR, c.LoraAlpha, c.LoraTargets = 0, 0, nil
	plain := *t
	if plain.Trainer, err = gpt.FineTune(c, t.other, t.tokenizer, cp); err != nil {
		return l, err
	}
	return plain.losses(ctx)
}
