package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

const quarters = 4 // parts of the rounds; the mean reward of each is printed

type result struct {
	before, after float64
	rewards       [quarters]float64
}

// reward makes a copy of the trained agent answer questions, and makes tokens that led to right answers likelier:
// stage 2. A round is a batch of answers with the objective's number of steps on it.
func reward(ctx context.Context, o options, trained *agent, objective string, bar *program.Bar) (r result, err error) {
	defer bar.Close()
	epochs := 1
	if objective == "ppo" {
		epochs = o.epochs
	}
	rng, s := rand.New(rand.NewPCG(o.seed, 3)), search.NewSampler(o.seed+2)
	var rollout nn.Rollout
	var mean float64 // of the round's rewards
	a, err := newAgent(o, trained.task, lesson{
		loss: func(a *agent) (loss graph.Expr, err error) {
			rollout, loss, err = a.objective(o, objective)
			return loss, err
		},
		fill: func(a *agent, step int) error {
			if step%epochs > 0 {
				return nil
			}
			e, err := a.play(rng, s, false)
			if err == nil {
				mean = a.feed(e, rollout)
			}
			return err
		},
		rate: func(step int) float64 { return o.rewardRate * ramp(step/epochs, o.rounds) / float64(epochs) },
	})
	if err != nil {
		return r, err
	}
	for i, x := range trained.model.Params() { // parameters of the objective, if any, come after them
		if err := a.model.Params()[i].Tensor().Copy(x.Tensor()); err != nil {
			return r, errors.Wrap(err, x.Name())
		}
	}
	if r.before, err = a.accuracy(ctx, o, false); err != nil {
		return r, err
	}
	at, err := o.stage(objective, a)
	if err != nil {
		return r, err
	}
	defer at.close()
	var counts [quarters]float64 // 5 rounds are 2, 1, 1 and 1
	for round := range o.rounds {
		q := round * quarters / o.rounds
		counts[q]++
		if round < a.Done/epochs { // done before the run was resumed
			mean = at.rewards[round]
			if err := a.skip(rng, s); err != nil {
				return r, err
			}
			r.rewards[q] += (mean - r.rewards[q]) / counts[q]
			continue
		}
		for range epochs {
			if _, err := a.Step(); err != nil {
				return r, errors.Wrapf(err, "round %d", round+1)
			}
		}
		r.rewards[q] += (mean - r.rewards[q]) / counts[q]
		bar.Draw(round+1, fmt.Sprintf("reward %.3f", mean))
		if at != nil {
			at.rewards = append(at.rewards, mean)
		}
		if err := at.save(ctx, round+1 == o.rounds); err != nil {
			return r, err
		}
	}
	r.after, err = a.accuracy(ctx, o, false)
	return r, err
}

// ramp rises from 0 in a fifth of the rounds, so that the first steps, based on chance, do no damage, and falls to 0
// in the rest, so that right answers stay right.
func ramp(round, rounds int) float64 {
	at := (float64(round) + 0.5) / float64(rounds)
	return min(5*at, (1-at)/0.8)
}

// objective builds the loss of rewards, with its inputs.
func (a *agent) objective(o options, name string) (r nn.Rollout, loss graph.Expr, err error) {
	m := a.model
	at := nn.Site{Scope: m.Graph.Root().Sub("reward"), Dims: nn.Dims{Embd: o.width}}
	r = nn.NewRollout(at.Scope, len(m.Tokens.Ints()), vocabulary)
	if name == "reinforce" {
		return r, nn.NewReinforce(at.Scope).Forward(m.Logits, r), nil
	}
	hidden, err := m.Graph.Entering("lm_head")
	if err != nil {
		return r, loss, err
	}
	r.Baseline = nn.NewValueHead(at.At("value")).Forward(hidden.Detach())
	valueLoss := nn.NewValueLoss(at.Scope).Forward(r.Baseline, r)
	if name == "ppo" {
		l := nn.NewPPOClip(at.Scope)
		l.Clip = o.clip
		loss = l.Forward(m.Logits, r)
	} else {
		loss = nn.NewReinforce(at.Scope).Forward(m.Logits, r)
	}
	return r, loss.Add(valueLoss), nil
}

// feed copies a batch of episodes into the objective's inputs and returns the mean reward. Every drawn token has the
// reward 1 if the answer was right, otherwise 0.
func (a *agent) feed(e episode, r nn.Rollout) (mean float64) {
	tokens, actions, n := a.model.Tokens.Ints(), r.Actions.Ints(), a.tokens()
	returns, weights, logProbs := r.Returns.Tensor(), r.Weights.Tensor(), r.LogProbs.Tensor()
	for b, text := range e.texts {
		reward := 0.0
		if e.right[b] {
			reward = 1
		}
		mean += reward / float64(len(e.texts))
		copy(tokens[b*n:], text[:n])
		copy(actions[b*n:(b+1)*n], text[1:])
		for i := range n {
			chosen := i >= a.bits && i != n-2 // a thought or the answer comes next
			weights.Set(b*n+i, map[bool]float64{true: 1}[chosen])
			returns.Set(b*n+i, reward)
			logProbs.Set(b*n+i, e.logProbs[b][i])
		}
	}
	return mean
}
