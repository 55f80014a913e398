package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
)

// runCurvature is the command curvature.
func runCurvature(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o subject
	fs := o.flags("curvature", stderr)
	o.dataFlags(fs, "training")
	fs.Old("curvature", "")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if err := program.Want(o.tokens > 0, "-data_tokens", o.tokens, "at least 1"); err != nil {
		return err
	}
	return o.open(stdout, stderr, func(w io.Writer) error { return o.curvature(ctx, w, stderr) })
}

// curvature prints the largest eigenvalue of the Hessian of the training loss.
func (o *subject) curvature(ctx context.Context, stdout, stderr io.Writer) error {
	m, tok := o.m, o.tok
	source, err := o.text(ctx, stderr)
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
	fmt.Fprintf(stdout, "The Hessian of the loss over %s tokens of %s, by %s parameters\n\n",
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
