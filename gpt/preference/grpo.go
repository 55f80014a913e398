package preference

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Score returns the reward of an answer, which must be finite. Only differences between the answers to one prompt
// count.
type Score func(p text.Prompt, answer string) (float64, error)

// Group holds the settings of group relative policy optimization.
type Group struct {
	Size    int     // the number of answers to a prompt, at least 2
	Length  int     // the largest number of tokens of an answer
	Stop    []int   // tokens that end an answer
	Updates int     // the number of steps with the same answers; 0 is 1
	Clip    float64 // ε of nn.GRPO
	Beta    float64 // β of nn.GRPO, the weight of the penalty; 0 is none, and needs no pass with the weights of before
	Score   Score   // of an answer
}

// GRPO tunes a model by group relative policy optimization (Shao et al. 2024, arXiv:2402.03300), the objective of
// nn.GRPO. In each round the model answers prompts, with Size answers to each, and learns from them in Updates steps.
// The advantage of an answer with the reward R is (R − mean)/σ, with the mean and the standard deviation σ of the
// rewards in its group; it is 0 in a group of equal rewards. Every answer counts the same, whatever its length.
type GRPO struct {
	*gpt.Trainer
	group   Group
	policy  *policy
	rollout nn.Rollout
	prompts []text.Prompt
	order   order
	writer  *decode.Session
	tok     text.Tokenizer
	round   int      // of the answers, from 1; 0 before the first
	answers []answer // of a round, one for each row of a step
}

var errNone = errors.New("grpo: got none, want one from NewGRPO")

// Round describes the answers of a round.
type Round struct {
	Reward float64 // the mean
	Length float64 // the mean number of tokens
	Ended  float64 // the share of answers that a stop token ended
	Equal  float64 // the share of groups with equal rewards, which teach nothing
}

// NewGRPO returns a GRPO for the weights of a checkpoint, which trains all of them, or with c.LoraR adapters. Size must
// divide the number of rows of a step, c.BatchSize·c.GradientAccumulationSteps. A prompt that leaves less room than
// Length in block_size is an error.
func NewGRPO(
	c gpt.Config, group Group, prompts []text.Prompt, tok text.Tokenizer, from gpt.Source,
) (g *GRPO, err error) {
	if group.Updates == 0 {
		group.Updates = 1
	}
	rows := c.BatchSize * c.GradientAccumulationSteps
	switch {
	case len(prompts) == 0:
		return nil, errors.New("grpo: got no prompts, want at least 1")
	case group.Size < 2 || rows%group.Size > 0:
		return nil, errors.Errorf("grpo: size: got %d answers to a prompt, want at least 2, "+
			"and a divisor of the %d rows of a step, batch_size times gradient_accumulation_steps", group.Size, rows)
	case group.Length < 1:
		return nil, errors.Errorf("grpo: length: got %d, want at least 1", group.Length)
	case group.Updates < 1:
		return nil, errors.Errorf("grpo: updates: got %d, want at least 1", group.Updates)
	case group.Score == nil:
		return nil, errors.New("grpo: score: got nil, want a function")
	}
	g = &GRPO{group: group, prompts: prompts, tok: tok, order: order{seed: c.Seed, n: len(prompts)}}
	asked := func(yield func(text.Choice) bool) {
		for _, p := range prompts {
			if !yield(text.Choice{Tokens: p.Tokens}) {
				return
			}
		}
	}
	if g.policy, g.rollout, err = newPolicy(c, asked, tok, from, g.objective, g.fill); err != nil {
		return nil, errors.WithMessage(err, "grpo")
	}
	g.Trainer = g.policy.trainer
	if err := g.fits(prompts); err != nil {
		return nil, errors.WithMessage(err, "grpo")
	}
	g.writer, err = gpt.NewDecoder(g.Model, c.BatchSize)
	return g, errors.WithMessage(err, "grpo")
}

// fits returns an error unless the context holds every prompt and an answer.
func (g *GRPO) fits(prompts []text.Prompt) error {
	for i, p := range prompts {
		if n, most := len(p.Tokens), g.policy.context+1-g.group.Length; n < 1 || n > most {
			return errors.Errorf("prompt %d: got %d tokens, want 1 to %d: block_size %d and an answer of %d tokens",
				i, n, most, g.policy.context, g.group.Length)
		}
	}
	return nil
}

// objective declares the loss and the answers.
func (g *GRPO) objective(logits, targets graph.Expr) (loss graph.Expr, r nn.Rollout) {
	s, rows := logits.Graph().Root().Sub("grpo"), logits.Shape()
	if len(rows) != 2 {
		return loss, r
	}
	r = nn.NewRollout(s, rows[0], rows[1])
	if g.group.Updates == 1 { // the answers are the present policy's
		r.LogProbs = nn.LogProbs(logits.In(s), r.Actions).Detach()
	}
	if g.group.Beta > 0 {
		r.Reference = s.Value("reference", graph.Const(0), rows[0], 1)
	}
	l := nn.NewGRPO(s)
	l.Clip, l.Beta = g.group.Clip, g.group.Beta
	return l.Forward(logits, r), r
}

// Step is like gpt.Trainer's. Before it, the model answers the prompts of the next round, unless the present one has
// steps left. Step returns what the answers of the round are like.
func (g *GRPO) Step(ctx context.Context) (p train.Progress, r Round, err error) {
	if g == nil || g.writer == nil {
		return p, r, errNone
	}
	if round := g.Done/g.group.Updates + 1; g.round != round {
		if g.answers, err = g.play(ctx, round); err != nil {
			g.round = 0
			return p, r, errors.WithMessagef(err, "grpo: round %d", round)
		}
		g.round = round
	}
	p, err = g.Trainer.Step()
	return p, g.described(), err
}

// play lets the model answer the prompts of a round.
func (g *GRPO) play(ctx context.Context, round int) ([]answer, error) {
	c := g.Config()
	count := c.BatchSize * c.GradientAccumulationSteps / g.group.Size
	var asked []text.Prompt
	for i := range count {
		asked = append(asked, g.prompts[g.order.at((round-1)*count+i)])
	}
	list, err := g.ask(ctx, asked, rand.New(rand.NewPCG(c.Seed, uint64(round))))
	if err == nil {
		err = g.remember(ctx, list)
	}
	return list, err
}

// described returns what the answers of the round are like.
func (g *GRPO) described() (r Round) {
	n := float64(len(g.answers))
	for group := range slices.Chunk(g.answers, g.group.Size) {
		if !slices.ContainsFunc(group, func(a answer) bool { return a.advantage != 0 }) {
			r.Equal += float64(g.group.Size) / n
		}
		for _, a := range group {
			r.Reward += a.reward / n
			r.Length += float64(len(a.Tokens)-a.First) / n
			if a.ended {
				r.Ended += 1 / n
			}
		}
	}
	return r
}

// fill fills a micro-batch with answers of the round.
func (g *GRPO) fill(step, micro int, _, y []int) error {
	if g.round != step/g.group.Updates+1 {
		return errors.New("grpo: the round has no answers yet: want a Step of GRPO")
	}
	rows := g.Config().BatchSize
	r, length := g.rollout, g.policy.context
	returns, weights := r.Returns.Tensor(), r.Weights.Tensor()
	for b := range rows {
		a := g.answers[micro*rows+b]
		if _, err := a.Row(g.policy.row(b)); err != nil {
			return err
		}
		for t := range length {
			i := b*length + t
			action, weight := y[i], 1/float64(len(a.Tokens)-a.First)
			if action == text.Ignore {
				action, weight = 0, 0
			}
			r.Actions.Ints()[i] = action
			set := []error{returns.Set(i, a.advantage), weights.Set(i, weight)}
			if a.old != nil {
				set = append(set, r.LogProbs.Tensor().Set(i, a.old[t]))
			}
			if a.reference != nil {
				set = append(set, r.Reference.Tensor().Set(i, a.reference[t]))
			}
			for _, err := range set {
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Judge returns the mean reward of Size answers to each prompt, before the tuning and now, drawn with the same random
// numbers. The prompts should be others than those that the model is trained on. If progress is not nil, it is called
// with the number of prompts answered, each of them twice.
func (g *GRPO) Judge(
	ctx context.Context, prompts []text.Prompt, progress func(done, total int),
) (before, now []float64, err error) {
	if g == nil || g.writer == nil {
		return nil, nil, errNone
	}
	if err := g.fits(prompts); err != nil {
		return nil, nil, errors.WithMessage(err, "grpo")
	}
	done := 0
	mean := func() (list []float64, err error) {
		seeds := rand.New(rand.NewPCG(g.Config().Seed, 0))
		for _, p := range prompts {
			answers, err := g.ask(ctx, []text.Prompt{p}, seeds)
			if err != nil {
				return nil, errors.WithMessage(err, "grpo")
			}
			var sum float64
			for _, a := range answers {
				sum += a.reward
			}
			list = append(list, sum/float64(len(answers)))
			if done++; progress != nil {
				progress(done, 2*len(prompts))
			}
		}
		return list, nil
	}
	if now, err = mean(); err != nil {
		return nil, nil, err
	}
	err = g.policy.before(func() (err error) { before, err = mean(); return err })
	return before, now, err
}
