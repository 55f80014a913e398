package preference

import (
	"context"
	"iter"
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// DPO tunes a model on pairs of answers by direct preference optimization, the objective of nn.DPO. A micro-batch of B
// rows holds B/2 pairs, in a new random order for every pass through them.
type DPO struct {
	*gpt.Trainer
	Cut int // the number of answers to train on whose prompts were cut at their beginning

	policy    *policy
	reference graph.Expr // ln P(answer | prompt) before the tuning, for each row of a micro-batch  (B, 1)
	beta      float64
	pairs     []text.Pair
	before    []float64 // the reference of all answers: 2i of the chosen one of pair i, 2i+1 of the rejected one
	order     order
}

// NewDPO returns a DPO for the weights of a checkpoint, which trains all of them, or with c.LoraR adapters. The larger
// β is, the less the tuned model moves away from the checkpoint's; 0.1 is usual. c.BatchSize must be even. An answer
// that does not fit in block_size is an error; a prompt is cut at its beginning. If progress is not nil, it is called
// with the number of answers whose reference is computed.
func NewDPO(
	c gpt.Config, beta float64, pairs []text.Pair, tok text.Tokenizer, from gpt.Source,
	progress func(done, total int),
) (d *DPO, err error) {
	switch {
	case len(pairs) == 0:
		return nil, errors.New("dpo: got no pairs, want at least 1")
	case c.BatchSize < 2 || c.BatchSize%2 > 0:
		return nil, errors.Errorf("dpo: batch_size: got %d, want an even number: two rows for each pair", c.BatchSize)
	}
	d = &DPO{beta: beta, pairs: pairs, order: order{seed: c.Seed, n: len(pairs)}}
	d.policy, d.reference, err = newPolicy(c, sides(pairs), tok, from,
		func(logits, targets graph.Expr) (loss, reference graph.Expr) {
			s := logits.Graph().Root().Sub("dpo")
			reference = s.Value("reference", graph.Const(0), c.BatchSize, 1)
			l := nn.NewDPO(s, c.BatchSize)
			l.Beta = beta
			return l.Forward(logits, targets, reference), reference
		}, d.fill)
	if err != nil {
		return nil, errors.WithMessage(err, "dpo")
	}
	d.Trainer = d.policy.trainer
	d.before, err = d.policy.sums(c.Context, sides(pairs), progress)
	if err != nil {
		return nil, errors.WithMessage(err, "dpo")
	}
	for c := range sides(pairs) {
		if len(c.Tokens)-1 > d.policy.context {
			d.Cut++
		}
	}
	return d, nil
}

// sides yields the two answers of each pair, the chosen one first.
func sides(pairs []text.Pair) iter.Seq[text.Choice] {
	return func(yield func(text.Choice) bool) {
		for _, p := range pairs {
			if !yield(p.Chosen) || !yield(p.Rejected) {
				return
			}
		}
	}
}

// fill fills a micro-batch.
func (d *DPO) fill(step, micro int, _, _ []int) error {
	c := d.Config()
	first := (step*c.GradientAccumulationSteps + micro) * c.BatchSize / 2
	for b := range c.BatchSize {
		i := d.order.at(first + b/2)
		side := d.pairs[i].Chosen
		if b%2 > 0 {
			side = d.pairs[i].Rejected
		}
		if _, err := side.Row(d.policy.row(b)); err != nil {
			return err
		}
		if err := d.reference.Tensor().Set(b, d.before[2*i+b%2]); err != nil {
			return err
		}
	}
	return nil
}

// Judgement says how a model finds a pair: ln P(chosen | prompt) − ln P(rejected | prompt), before the tuning and now.
type Judgement struct{ Before, Now float64 }

// Margin returns m of nn.DPO: above 0 if the tuning has moved the model towards the chosen answer.
func (j Judgement) Margin(beta float64) float64 { return beta * (j.Now - j.Before) }

// Loss returns −ln σ(m), the objective of nn.DPO.
func (j Judgement) Loss(beta float64) float64 {
	m := j.Margin(beta)
	return max(0, -m) + elementary.Log1p(elementary.Exp(-math.Abs(m)))
}

// Judge returns how the model finds pairs, which should be others than those it is trained on. If progress is not nil,
// it is called with the number of answers that are read, each of them twice.
func (d *DPO) Judge(
	ctx context.Context, pairs []text.Pair, progress func(done, total int),
) (list []Judgement, err error) {
	if d == nil || d.policy == nil {
		return nil, errors.New("dpo: got none, want one from NewDPO")
	}
	part := func(i int) func(done, total int) {
		return func(done, total int) {
			if progress != nil {
				progress(done+i*total, 2*total)
			}
		}
	}
	now, err := d.policy.sums(ctx, sides(pairs), part(0))
	if err != nil {
		return nil, errors.WithMessage(err, "dpo")
	}
	var before []float64
	err = d.policy.before(func() (err error) { before, err = d.policy.sums(ctx, sides(pairs), part(1)); return err })
	if err != nil {
		return nil, errors.WithMessage(err, "dpo")
	}
	for i := range pairs {
		list = append(list, Judgement{before[2*i] - before[2*i+1], now[2*i] - now[2*i+1]})
	}
	return list, nil
}
