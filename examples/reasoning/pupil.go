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

// pupil is a model of the texts of a lesson, and what lets it think.
type pupil struct {
	lesson
	model   *gpt.Model
	decoder *gpt.BatchDecoder
	batch   int
}

// newPupil is one that has learned nothing, and compile makes of its model what it is to learn by.
func newPupil(o options, l lesson, compile func(*pupil) error) (*pupil, error) {
	p := &pupil{lesson: l, batch: o.batch}
	_, err := graph.Build(graph.Float32, o.seed, func(g *graph.Graph) (err error) {
		g.SetThreads(o.threads)
		if p.model, err = gpt.New(g, o.config(l.tokens()), o.batch); err != nil {
			return err
		}
		return compile(p)
	})
	if err != nil {
		return nil, err
	}
	p.decoder, err = gpt.NewBatchDecoder(p.model, o.batch)
	return p, err
}

// teach trains on the lesson: stage 1.
func teach(ctx context.Context, o options, l lesson, bar *program.Bar) (*pupil, error) {
	defer bar.Close()
	var program *graph.Program
	p, err := newPupil(o, l, func(p *pupil) (err error) {
		program, err = graph.Compile(p.model.Loss, p.model.Params()...)
		return err
	})
	if err != nil {
		return nil, err
	}
	opt, err := optimizer(p.model.Params())
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(o.seed, 1))
	for step := range o.steps {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		l.write(rng, p.model.Tokens.Ints(), p.model.Targets.Ints())
		if err := program.Run(); err != nil {
			return nil, err
		}
		warm := min(1, float64(step+1)/50)
		if _, err := opt.Update(program, o.learningRate*warm); err != nil {
			return nil, errors.Wrapf(err, "step %d", step+1)
		}
		bar.Add(1, "loss %.3f", program.Loss())
	}
	return p, nil
}

func optimizer(params []graph.Expr) (*optim.AdamW, error) {
	opt, err := optim.NewAdamW(params)
	if err != nil {
		return nil, err
	}
	opt.Beta1, opt.Beta2, opt.Clip = 0.9, 0.99, 1
	return opt, nil
}

// episode is a batch of questions with the thoughts and answers to them.
type episode struct {
	texts    [][]int     // whole
	logProbs [][]float64 // of the tokens that the pupil chose, at the places before them; 0 elsewhere
	right    []bool
}

// play lets the pupil think about a batch of questions and answer them, drawing every token from its probabilities. With
// given, it reads right thoughts in place of its own.
func (p *pupil) play(rng *rand.Rand, s *gpt.Sampler, given bool) (e episode, err error) {
	p.decoder.Reset()
	next := make([][]int, p.batch)
	for range p.batch {
		q := p.question(rng)
		if given {
			q = append(q, p.reason(q, 0, rng)...)
		}
		e.texts = append(e.texts, q)
		e.logProbs = append(e.logProbs, make([]float64, p.tokens()))
	}
	for fed := 0; len(e.texts[0]) <= p.tokens(); {
		for b, text := range e.texts {
			if len(text) == p.tokens()-1 { // enough thought
				e.texts[b] = append(text, say)
			}
			next[b] = e.texts[b][fed:]
		}
		fed = len(e.texts[0])
		logits, err := p.decoder.Feed(next)
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
		e.right = append(e.right, text[p.tokens()] == p.parity(text))
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
func (p *pupil) accuracy(ctx context.Context, o options, given bool) (float64, error) {
	rng, s := rand.New(rand.NewPCG(o.seed, 2)), gpt.NewSampler(o.seed+1)
	right, total := 0, 0
	for total < o.tests {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		e, err := p.play(rng, s, given)
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
