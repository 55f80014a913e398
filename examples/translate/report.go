package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/picture"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/internal/file"
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

// Directories in out_dir with models alone.
const (
	averagedDir = "averaged" // of the averaged weights, if the run has ema
	bestDir     = "best"     // of the lowest loss, if the run has patience
)

// train does the steps up to max_iters, or until patience runs out. It saves at intervals and when it is interrupted.
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
		r.Step(p)
		stop, evaluates := false, t.Done%c.EvalInterval == 0 && t.Done < c.MaxIters
		if evaluates { // the checkpoint has the lowest loss so far, so a signal waits for it
			if stop, err = r.stalled(context.WithoutCancel(ctx)); err != nil {
				return err
			}
		}
		if evaluates || ctx.Err() != nil {
			if err := save(); err != nil {
				return err
			}
			r.Keep(r.plot())
		}
		if evaluates && ctx.Err() == nil {
			if err := r.spotCheck(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return errors.WithMessagef(context.Cause(ctx), "saved at step %d, continue with -resume", t.Done)
		}
		if stop {
			break
		}
	}
	r.Starving()
	r.Print("trained %d steps in %s", t.Done-from, time.Since(start).Round(100*time.Millisecond))
	r.Keep(r.plot())
	return save()
}

// plot draws the losses.
func (r report) plot() error {
	path := filepath.Join(r.trainer.Model.Config.OutDir, "loss.png")
	return errors.Wrap(file.Replace(path, func(w io.Writer) error {
		return picture.Losses(w, "cross entropy, nats per token", &r.Loss, &r.Train, &r.Val, 0)
	}), "loss.png")
}

// stalled evaluates the loss of every other held-out text if the run has patience, saves the model in out_dir/best if
// it is the lowest so far, and reports whether patience has run out. The other half is translated at the end.
func (r report) stalled(ctx context.Context) (bool, error) {
	t := r.trainer
	c := t.Model.Config
	r.Starving()
	if c.Patience == 0 {
		return false, nil
	}
	loss, err := t.Evaluate(ctx, r.texts.half(0))
	if err != nil {
		return false, program.Cause(ctx, err)
	}
	r.Print("step %d: loss of %d held-out texts %.4f nats per token", t.Done, r.texts.half(0).Len(), loss)
	r.Add(map[string]float64{"step": float64(t.Done), "held_out_loss": loss})
	if t.Since == 0 {
		files, err := t.Files(r.texts.source, r.texts.target)
		if err != nil {
			return false, err
		}
		r.Keep(r.alone(bestDir, files))
	}
	if t.Stalled() {
		r.Print("stopped at step %d of %d: %d evaluations without a loss below %.4f (-patience); -resume continues",
			t.Done, c.MaxIters, t.Since, t.Best)
	}
	return t.Stalled(), nil
}

// alone saves a checkpoint in a directory of its own in out_dir.
func (r report) alone(name string, files []checkpoint.File) error {
	dir, err := checkpoint.Open(filepath.Join(r.trainer.Model.Config.OutDir, name))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Save(r.trainer.Done, append(files, r.options.pairing.file()))
}

// spotCheck translates some of the held-out texts.
func (r report) spotCheck(ctx context.Context) error {
	n, total, err := r.greedy(ctx, r.trainer.Model, min(2*atOnce, r.options.tests))
	if err != nil {
		return err
	}
	r.Print("step %d: %d of %d held-out texts are translated right", r.trainer.Done, n, total)
	r.Add(map[string]float64{"step": float64(r.trainer.Done), "exact_match": float64(n) / float64(total)})
	return nil
}

// greedy translates at most n held-out texts, and returns how many of how many are right.
func (r report) greedy(ctx context.Context, m *seq2seq.Model, n int) (hits, total int, err error) {
	pairs, sources, err := r.heldOut(n)
	if err != nil {
		return 0, 0, err
	}
	w, err := seq2seq.NewTranslator(m, min(atOnce, len(sources)), 1)
	if err != nil {
		return 0, 0, err
	}
	found, err := w.Greedy(ctx, sources)
	if err != nil {
		return 0, 0, err
	}
	return right(found, pairs), len(pairs), nil
}

// heldOut returns n of the held-out texts, or all, evenly spread.
func (r report) heldOut(n int) (pairs []seq2seq.Pair, sources [][]int, err error) {
	held := r.texts.held
	if r.trainer.Model.Config.Patience > 0 {
		held = r.texts.half(1).texts
	}
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
