package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// agent is a model of the texts of a task, with its trainer and its decoder.
type agent struct {
	task
	*train.Core
	batch   int
	model   *gpt.Model
	decoder *decode.Session
}

// lesson describes how an agent is trained: the loss on its model, the batches, and the learning rate.
type lesson struct {
	loss func(*agent) (graph.Expr, error)
	fill func(a *agent, step int) error
	rate func(step int) float64
}

// newAgent returns an untrained agent.
func newAgent(o options, t task, l lesson) (*agent, error) {
	a, c := &agent{task: t, batch: o.batch}, o.config(t.tokens())
	core, err := train.New(c.Training, c.Run, train.Task{
		Build: func(g *graph.Graph) (loss graph.Expr, params []graph.Expr, err error) {
			if a.model, err = gpt.New(g, c, o.batch); err != nil {
				return loss, nil, err
			}
			loss, err = l.loss(a)
			return loss, a.model.Params(), err
		},
		Fill:      func(step, _ int) (int, error) { return len(a.model.Tokens.Ints()), l.fill(a, step) },
		Optimizer: parts.Find(parts.Optimizers(), "adamw").New,
		Hooks:     train.Hooks{Rate: l.rate},
	})
	if err != nil {
		return nil, err
	}
	a.Core = core
	a.decoder, err = gpt.NewDecoder(a.model, o.batch)
	return a, err
}

// pretrain trains an agent on texts of the task: stage 1.
func pretrain(ctx context.Context, o options, t task, bar *program.Bar) (*agent, error) {
	defer bar.Close()
	rng := rand.New(rand.NewPCG(o.seed, 1))
	a, err := newAgent(o, t, lesson{
		loss: func(a *agent) (graph.Expr, error) { return a.model.Objective, nil },
		fill: func(a *agent, _ int) error {
			t.write(rng, a.model.Tokens.Ints(), a.model.Targets.Ints())
			return nil
		},
		rate: func(step int) float64 { return o.learningRate * min(1, float64(step+1)/50) },
	})
	if err != nil {
		return nil, err
	}
	s, err := o.stage(t.name, a)
	if err != nil {
		return nil, err
	}
	defer s.close()
	for range a.Done { // the texts of the steps that are done
		t.write(rng, a.model.Tokens.Ints(), a.model.Targets.Ints())
	}
	for a.Done < o.steps {
		p, err := a.Step()
		if err != nil {
			return nil, err
		}
		bar.Draw(a.Done, fmt.Sprintf("loss %.3f", p.Loss))
		if err := s.save(ctx, a.Done == o.steps); err != nil {
			return nil, err
		}
	}
	return a, nil
}
