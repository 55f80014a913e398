package main

import (
	"context"
	"math"
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

// episode is a batch of questions with the thoughts and answers to them.
type episode struct {
	texts    [][]int     // whole
	logProbs [][]float64 // of the tokens that the agent drew, at the places before them; 0 elsewhere
	right    []bool
}

// play lets the agent think about a batch of questions and answer them, drawing every token from its probabilities.
// With given, it reads right thoughts instead.
func (a *agent) play(rng *rand.Rand, s *gpt.Sampler, given bool) (e episode, err error) {
	a.decoder.Reset()
	next := make([][]int, a.batch)
	for range a.batch {
		q := a.question(rng)
		if given {
			q = append(q, a.reason(q, 0, rng)...)
		}
		e.texts = append(e.texts, q)
		e.logProbs = append(e.logProbs, make([]float64, a.tokens()))
	}
	for fed := 0; len(e.texts[0]) <= a.tokens(); {
		for b, text := range e.texts {
			if len(text) == a.tokens()-1 { // enough thought
				e.texts[b] = append(text, say)
			}
			next[b] = e.texts[b][fed:]
		}
		fed = len(e.texts[0])
		logits, err := a.decoder.Feed(next)
		if err != nil {
			return e, err
		}
		for b, text := range e.texts {
			id, err := s.Draw(logits.Row(b))
			if err != nil {
				return e, err
			}
			e.logProbs[b][len(text)-1] = logProb(logits.Row(b), id)
			e.texts[b] = append(text, id)
		}
	}
	for _, text := range e.texts {
		e.right = append(e.right, text[a.tokens()] == a.parity(text))
	}
	return e, nil
}

// logProb is ln softmax(logits)[id].
func logProb(logits graph.Tensor, id int) float64 {
	var sum float64
	for i := range logits.Len() {
		sum += math.Exp(logits.At(i) - logits.At(id))
	}
	return -math.Log(sum)
}

// accuracy is the share of right answers.
func (a *agent) accuracy(ctx context.Context, o options, given bool) (float64, error) {
	rng, s := rand.New(rand.NewPCG(o.seed, 2)), gpt.NewSampler(o.seed+1)
	right, total := 0, 0
	for total < o.tests {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		e, err := a.play(rng, s, given)
		if err != nil {
			return 0, err
		}
		for _, r := range e.right {
			if total++; r {
				right++
			}
		}
	}
	return float64(right) / float64(total), nil
}
