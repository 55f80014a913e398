package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// curvature prints the largest eigenvalue of the Hessian of the training loss.
func curvature(
	ctx context.Context, stdout, stderr io.Writer, o options,
	cp *checkpoint.Checkpoint, m *gpt.Model, tok text.Tokenizer,
) error {
	source, err := open(ctx, o.data, cp, stderr)
	if err != nil {
		return err
	}
	data, err := source.Encode(tok, m.Config.BlockSize)
	if err != nil {
		return err
	}
	s := corpus.Beginning{Split: data.Train(), Tokens: o.tokens}
	c, err := inspect.NewCurvature(m, s)
	if err != nil {
		return err
	}
	search := base.Lanczos(m, c)
	bar := program.NewBar(stderr, "iteration", 0, search.MaxIterations)
	search.Progress = func(done int) { bar.Draw(done) }
	e, err := c.Largest(ctx, search)
	bar.Close()
	if err != nil {
		return err
	}
	blocks := (s.Len() - 1) / m.Config.BlockSize
	fmt.Fprintf(stdout, "\nThe Hessian of the loss over %s tokens of %s, by %s parameters\n\n",
		program.Thousands(blocks*m.Config.BlockSize), source.Name, program.Thousands(c.Len()))
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "largest eigenvalue λ\t%.5g\n", e.Value)
	fmt.Fprintf(t, "residual\t%.1g\n", e.Residual)
	fmt.Fprintf(t, "iterations\t%d\n", e.Iterations)
	fmt.Fprintf(t, "largest stable learning rate of gradient descent, 2/λ\t%.4g\n", e.StableRate())
	if e.Residual > search.Tolerance*e.Value {
		fmt.Fprintf(t, "the search ended before the residual was %g of λ\n", search.Tolerance)
	}
	return t.Flush()
}
