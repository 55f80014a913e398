package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// outputs returns the paths of a run's results in out_dir.
func outputs(dir string) (adapter, merged string) {
	return filepath.Join(dir, "adapter.safetensors"), filepath.Join(dir, "merged")
}

// unused returns an error if the directory holds the result of another run.
func unused(dir string) error {
	adapter, merged := outputs(dir)
	for _, path := range []string{adapter, merged} {
		if _, err := os.Stat(path); err == nil {
			return errors.Errorf("out_dir: %s holds the %s of an earlier run; another -out_dir begins a new one", dir,
				filepath.Base(path))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return errors.Wrap(err, "out_dir")
		}
	}
	return nil
}

func (t *tuned) writeAdapters() error {
	adapter, _ := outputs(t.Config().OutDir)
	if err := os.MkdirAll(filepath.Dir(adapter), 0o755); err != nil {
		return err
	}
	return file.Replace(adapter, t.Model.WriteAdapters)
}

// keep saves the adapters if a signal ended their training, and adds that to the error.
func (t *tuned) keep(ctx context.Context, err error) error {
	if ctx.Err() == nil || t.Done == 0 {
		return err
	}
	if err := t.writeAdapters(); err != nil {
		return err
	}
	adapter, _ := outputs(t.Config().OutDir)
	return errors.WithMessagef(err, "saved the adapters of step %d to %s, not merged", t.Done, adapter)
}

// finish saves the adapters, merges them, saves the merged model, and measures the saved model.
func (t *tuned) finish(ctx context.Context, stdout io.Writer) error {
	adapter, merged := outputs(t.Config().OutDir)
	if err := t.writeAdapters(); err != nil {
		return err
	}
	written, err := os.Stat(adapter)
	if err != nil {
		return err
	}
	size := written.Size()
	t.Model.Merge()
	plain, err := t.Model.Plain(1)
	if err != nil {
		return err
	}
	files, err := plain.Files(t.tokenizer)
	if err != nil {
		return err
	}
	dir, err := checkpoint.Open(merged)
	if err != nil {
		return err
	}
	if err := cmp.Or(dir.Save(t.Done, files), dir.Close()); err != nil {
		return err
	}
	loss, err := t.reloaded(ctx, merged)
	if err != nil {
		return err
	}
	weights, err := t.checkpoint.Open(train.WeightsFile)
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
	fmt.Fprintf(stdout, "loss on the old text: %+.4f nats per character\n\n", t.after[1]-t.before[1])
	_, err = fmt.Fprintf(stdout,
		"%s: %d bytes, %.1f %% of the base's %d\n%s: the model with the adapters merged, an ordinary checkpoint\n",
		adapter, size, 100*float64(size)/float64(weights.Size()), weights.Size(), merged)
	return err
}

// reloaded returns the losses of the saved merged model, without adapters.
func (t *tuned) reloaded(ctx context.Context, path string) (l [2]float64, err error) {
	cp, err := checkpoint.Load(path, gpt.Fits())
	if err != nil {
		return l, err
	}
	defer cp.Close()
	c := t.Config()
	c.Context = ctx
	c.LoraR, c.LoraAlpha, c.LoraTargets = 0, 0, nil
	plain := *t
	if plain.Trainer, err = gpt.FineTune(c, t.other, t.tokenizer, cp); err != nil {
		return l, err
	}
	return plain.losses(ctx)
}
