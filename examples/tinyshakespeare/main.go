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
	source, data, tok, err := o.open(ctx, c.BlockSize, stderr)
	if err != nil {
		return err
	}
	if _, err := base.Prompt(tok, o.prompt); err != nil { // now rather than after the training
		return err
	}
	t, err := trainer(c, o, data, tok, stderr)
	if err != nil {
		return err
	}
	dir, err := checkpoint.Open(c.OutDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	r, err := newReport(t, source, stdout)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := fit(ctx, t, dir, r); err != nil {
		return err
	}
	return sample(ctx, t.Model, tok, o, stdout)
}

// trainer begins a run, or resumes where the newest checkpoint stopped.
func trainer(c gpt.Config, o options, data text.Corpus, tok text.Tokenizer, stderr io.Writer) (*gpt.Trainer, error) {
	saved, err := base.Load(c.OutDir, stderr)
	switch {
	case o.resume && err != nil:
		return nil, errors.Wrap(err, "-resume")
	case o.resume:
		return gpt.Resume(c, data, tok, saved)
	case errors.Is(err, checkpoint.ErrNone):
		return gpt.NewTrainer(c, data, tok)
	case err != nil:
		return nil, err
	}
	return nil, errors.Errorf("out_dir: %s holds a checkpoint of step %d; -resume continues it, "+
		"another -out_dir begins a new run",
		c.OutDir, saved.Step)
}

func sampleOnly(ctx context.Context, c gpt.Config, o options, stdout, stderr io.Writer) error {
	saved, err := base.Load(c.OutDir, stderr)
	if err != nil {
		return err
	}
	g := graph.New(graph.Float32, c.Seed)
	c.Configure(g)
	m, tok, err := base.Open(g, saved)
	if err != nil {
		return err
	}
	return sample(ctx, m, tok, o, stdout)
}
