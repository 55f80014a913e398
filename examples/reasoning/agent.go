package main

import (
	"context"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pkg/errors"
)

// agent is a model of the texts of a task, what trains it, and what lets it write them.
type agent struct {
	task
	batch   int
	model   *gpt.Model
	program *graph.Program // the loss and its gradients
	opt     *optim.AdamW
	decoder *gpt.BatchDecoder
}

// newAgent is untrained; objective builds the loss on its model.
func newAgent(o options, t task, objective func(*agent) (graph.Expr, error)) (*agent, error) {
	a := &agent{task: t, batch: o.batch}
	_, err := graph.Build(graph.Float32, o.seed, func(g *graph.Graph) (err error) {
		g.SetThreads(o.threads)
		if a.model, err = gpt.New(g, o.config(t.tokens()), o.batch); err != nil {
			return err
		}
		loss, err := objective(a)
		if err != nil {
			return err
		}
		a.program, err = graph.Compile(loss, a.model.Params()...)
		return err
	})
	if err != nil {
		return nil, err
	}
	if a.opt, err = optim.NewAdamW(a.model.Params()); err != nil {
		return nil, err
	}
	a.opt.Beta1, a.opt.Beta2, a.opt.Clip = 0.9, 0.99, 1
	a.decoder, err = gpt.NewBatchDecoder(a.model, o.batch)
	return a, err
}

// step trains on the batch that is in the model.
func (a *agent) step(rate float64) error {
	if err := a.program.Run(); err != nil {
		return err
	}
	_, err := a.opt.Update(a.program, rate)
	return err
}

// pretrain trains on texts of the task: stage 1.
func pretrain(ctx context.Context, o options, t task, bar *program.Bar) (*agent, error) {
	defer bar.Close()
	a, err := newAgent(o, t, func(a *agent) (graph.Expr, error) { return a.model.Loss, nil })
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(o.seed, 1))
	for step := range o.steps {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		t.write(rng, a.model.Tokens.Ints(), a.model.Targets.Ints())
		warm := min(1, float64(step+1)/50)
		if err := a.step(o.learningRate * warm); err != nil {
			return nil, errors.Wrapf(err, "step %d", step+1)
		}
		bar.Add(1, "loss %.3f", a.program.Loss())
	}
	return a, nil
}
