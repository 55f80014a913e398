package main

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pkg/errors"
)

// at once, as many texts as the matrices of the decoder are fast for.
const atOnce = 128

// report trains, and prints what happens.
type report struct {
	*program.Bar
	trainer *seq2seq.Trainer
	texts   *corpus
	options options
}

func (r report) begin() {
	total := 0
	for _, p := range r.trainer.Model.Params() {
		total += p.Tensor().Len()
	}
	c, o, t := r.trainer.Model.Config, r.options, r.texts
	r.Print("pedestrian | %d parameters | %d + %d blocks, %s-norm | %d threads",
		total, c.NLayer, c.NLayer, c.Block, r.trainer.Model.Graph.Threads())
	r.Print("%s: %d texts to train on, %d held out | "+
		"sources of %d %s at most, %d different | targets of %d %s, %d different",
		t.name, len(slices.Compact(slices.Clone(t.train))), len(t.held), t.longest[0], o.sourceUnit, t.source.Size(),
		t.longest[1], o.targetUnit, t.target.Size())
}

// train steps to max_iters, and saves on the way and when it is interrupted.
func (r report) train(ctx context.Context, dir *checkpoint.Dir) error {
	t, start, from := r.trainer, time.Now(), r.trainer.Done
	c := t.Model.Config
	limit := time.Duration(math.MaxInt64)
	if r.options.minutes > 0 {
		limit = time.Duration(r.options.minutes * float64(time.Minute))
	}
	save := func() error { return dir.Save(t.Done, t.Files(r.texts.source, r.texts.target)) }
	for t.Done < c.MaxIters && time.Since(start) < limit {
		p, err := t.Step()
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			if err := save(); err != nil {
				return err
			}
			return errors.WithMessagef(context.Cause(ctx), "saved at step %d, go on with -resume", t.Done)
		}
		if t.Done%c.LogInterval == 0 {
			left := min(r.ETA(t.Done), limit-time.Since(start)).Round(time.Second)
			r.Print("step %d/%d | loss %.5f | norm %.2f | lr %.1e | %.1f ms | %.0f tok/s | eta %s", p.Step, c.MaxIters,
				p.Loss, p.Norm, p.LR, p.Took.Seconds()*1e3, float64(p.Tokens)/p.Took.Seconds(), left)
		}
		if t.Done%c.EvalInterval == 0 && t.Done < c.MaxIters {
			if err := save(); err != nil {
				return err
			}
			if err := r.spotCheck(ctx); err != nil {
				return err
			}
		}
	}
	r.Print("trained %d steps in %s", t.Done-from, time.Since(start).Round(100*time.Millisecond))
	return save()
}

// spotCheck translates a few of the texts held out.
func (r report) spotCheck(ctx context.Context) error {
	w, err := seq2seq.NewTranslator(r.trainer.Model, atOnce, 1)
	if err != nil {
		return err
	}
	pairs, sources, err := r.heldOut(min(2*atOnce, r.options.tests))
	if err != nil {
		return err
	}
	found, err := w.Greedy(ctx, sources)
	if err != nil {
		return err
	}
	r.Print("step %d: %d of %d texts held out are translated right", r.trainer.Done, right(found, pairs), len(pairs))
	return nil
}

// heldOut is n of the texts held out, or all, spread evenly.
func (r report) heldOut(n int) (pairs []seq2seq.Pair, sources [][]int, err error) {
	held := r.texts.held
	n = min(n, len(held))
	for i := range n {
		p, err := r.texts.encode(held[i*len(held)/n])
		if err != nil {
			return nil, nil, errors.Wrap(err, "a text held out")
		}
		pairs, sources = append(pairs, p), append(sources, p.Source)
	}
	return pairs, sources, nil
}

func right(found []seq2seq.Hypothesis, pairs []seq2seq.Pair) (n int) {
	for i, h := range found {
		if h.Ended && slices.Equal(h.Tokens, pairs[i].Target) {
			n++
		}
	}
	return n
}
