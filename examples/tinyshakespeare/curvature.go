package main

import (
	"context"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pkg/errors"
)

// newCurvature returns the Hessian of the loss on the first batch of the training split, or nil without -curvature.
func newCurvature(o options, t *gpt.Trainer) (*inspect.Curvature, error) {
	if !o.curvature {
		return nil, nil
	}
	tokens := len(t.Model.Tokens.Ints())
	h, err := inspect.NewCurvature(t.Model, corpus.Beginning{Split: t.Corpus.Train(), Tokens: tokens})
	return h, errors.Wrap(err, "-curvature")
}

// largest returns the largest eigenvalue, 0 without -curvature. An error other than the end of ctx does not end the
// run.
func (r *report) largest(ctx context.Context) (float64, error) {
	if r.curvature == nil {
		return 0, nil
	}
	e, err := r.curvature.Largest(ctx, base.Lanczos(r.trainer.Model, r.curvature))
	if err != nil && ctx.Err() != nil {
		return 0, err
	}
	r.Keep(errors.Wrap(err, "-curvature"))
	return e.Value, nil
}
