package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pkg/errors"
)

// atOnce is the number of texts for which the matrices of the decoder are fast.
const atOnce = 128

// report trains a model and prints its progress.
type report struct {
	*program.Log
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
	r.Header("pedestrian", fmt.Sprintf("%d parameters", total),
		fmt.Sprintf("%d + %d blocks, %s-norm", c.NLayer, c.NLayer, c.Block),
		fmt.Sprintf("%d threads", r.trainer.Model.Graph.Threads()))
	train := len(slices.Compact(slices.Clone(t.train)))
	r.Header(fmt.Sprintf("%s: %d texts to train on, %d held out", t.name, train, len(t.held)),
		fmt.Sprintf("sources of at most %d %s, %d different", t.longest[0], o.SourceUnit, t.source.Size()),
		fmt.Sprintf("targets of at most %d %s, %d different", t.longest[1], o.TargetUnit, t.target.Size()))
}

// train does the steps up to max_iters. It saves at intervals and when it is interrupted.
func (r report) train(ctx context.Context, dir *checkpoint.Dir) error {
	t, start, from := r.trainer, time.Now(), r.trainer.Done
	c := t.Model.Config
	if r.options.minutes > 0 {
		r.End = start.Add(time.Duration(r.options.minutes * float64(time.Minute)))
	}
	save := func() error {
		files, err := t.Files(r.texts.source, r.texts.target)
		if err != nil {
			return err
		}
		return dir.Save(t.Done, append(files, r.options.pairing.file()))
	}
	for t.Done < c.MaxIters && (r.End.IsZero() || time.Now().Before(r.End)) {
		p, err := t.Step()
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			if err := save(); err != nil {
				return err
			}
			return errors.WithMessagef(context.Cause(ctx), "saved at step %d, continue with -resume", t.Done)
		}
		r.Step(p)
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

// spotCheck translates some of the held-out texts.
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
	n := right(found, pairs)
	r.Print("step %d: %d of %d held-out texts are translated right", r.trainer.Done, n, len(pairs))
	r.Add(map[string]float64{"step": float64(r.trainer.Done), "exact_match": float64(n) / float64(len(pairs))})
	return nil
}

// heldOut returns n of the held-out texts, or all, evenly spread.
func (r report) heldOut(n int) (pairs []seq2seq.Pair, sources [][]int, err error) {
	held := r.texts.held
	n = min(n, len(held))
	for i := range n {
		p, err := r.texts.encode(held[i*len(held)/n])
		if err != nil {
			return nil, nil, errors.Wrap(err, "a held-out text")
		}
		pairs, sources = append(pairs, p), append(sources, p.Source)
	}
	return pairs, sources, nil
}

func right(found []search.Hypothesis, pairs []seq2seq.Pair) (n int) {
	for i, h := range found {
		if h.Ended && slices.Equal(h.Tokens, pairs[i].Target) {
			n++
		}
	}
	return n
}
