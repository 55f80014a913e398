package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
)

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
