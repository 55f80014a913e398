// Tinyshakespeare trains a small GPT on the works of Shakespeare, character by character, on the processor, and lets it
// write. Without flags it follows nanoGPT's recipe for a laptop: 4 layers, 4 heads, width 128, 2000 iterations.
//
//	go run ./examples/tinyshakespeare                                # train, sample, save to out/
//	go run ./examples/tinyshakespeare -resume                        # resume after Ctrl-C, bit-identically
//	go run ./examples/tinyshakespeare -sample_only -prompt "ROMEO:"  # let the checkpoint write
package main

import (
	"context"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

func main() { program.Main("tinyshakespeare", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.sampleOnly {
		return sampleOnly(ctx, c, o, stdout, stderr)
	}
	if !c.Kernels {
		graph.UseBLAS(c.Threads)
	}
	var dir *checkpoint.Dir
	var saved *checkpoint.Checkpoint // nil of a new run
	if o.resume {
		if dir, saved, err = base.Resume(gpt.Fits(), c.OutDir, stderr); err != nil {
			return errors.Wrap(err, "-resume")
		}
		defer dir.Close()
		defer saved.Close()
	}
	source, data, tok, err := o.open(ctx, c.BlockSize, saved, stderr)
	if err != nil {
		return err
	}
	if _, err := base.Prompt(tok, o.prompt); err != nil { // now rather than after the training
		return err
	}
	t, err := trainer(c, source, data, tok, saved)
	if err != nil {
		return err
	}
	if !o.resume { // only now: what is refused leaves nothing behind
		if dir, err = base.Begin(c.OutDir); err != nil {
			return err
		}
		defer dir.Close()
	}
	r, err := newReport(t, source, stdout)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := fit(ctx, t, dir, r); err != nil {
		return err
	}
	if err := sample(ctx, t.Model, tok, o, stdout); err != nil {
		return err
	}
	return r.trouble
}

// trainer begins a run, or resumes where the checkpoint stopped.
func trainer(
	c gpt.Config, source corpus.Source, data text.Corpus, tok text.Tokenizer, saved *checkpoint.Checkpoint,
) (*gpt.Trainer, error) {
	if saved == nil {
		return gpt.NewTrainer(c, data, tok)
	}
	t, err := gpt.Resume(c, data, tok, saved)
	if err != nil {
		return nil, source.Explain(err, data, saved)
	}
	return t, saved.Close() // the next save may remove it
}

func sampleOnly(ctx context.Context, c gpt.Config, o options, stdout, stderr io.Writer) error {
	saved, err := base.Load(c.OutDir, stderr)
	if err != nil {
		return err
	}
	defer saved.Close()
	g := graph.New(graph.Float32, c.Seed)
	c.Configure(g)
	m, tok, err := base.Open(g, saved)
	if err != nil {
		return err
	}
	return sample(ctx, m, tok, o, stdout)
}
