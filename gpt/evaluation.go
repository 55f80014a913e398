package gpt

import (
	"context"
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Evaluation is the loss on the two splits, in nats per token.
type Evaluation struct {
	Train, Val float64
	ValEMA     float64 // Val with the averages of the weights; 0 without EMA
}

// BitsPerChar returns the validation loss in bits per token, which are bits per character with a character tokenizer.
func (e Evaluation) BitsPerChar() float64 { return e.Val / math.Ln2 }

// Evaluate estimates both losses as nanoGPT does, over eval_iters random batches of each split. With Carry each row of
// these begins at a random block, in a state of zeros, and walks from there. The batches depend only on the seed and
// the step, so evaluating does not change the training. Unless it fails, it also updates Best and Since. All machines
// of a Group must call it; they share the work.
func (t *Trainer) Evaluate(ctx context.Context) (e Evaluation, err error) {
	if err := t.check(); err != nil {
		return e, err
	}
	n := t.config.EvalIters
	err = t.Losses(ctx, t.drawn(0), func(losses []float64, _ float64) {
		for i := range n {
			e.Train += losses[i] / float64(n)
			e.Val += losses[n+i] / float64(n)
		}
	})
	if err == nil && t.config.EMA > 0 {
		err = t.AveragedLosses(ctx, t.drawn(n), func(_ []float64, mean float64) { e.ValEMA = mean })
	}
	if err != nil { // a run that is resumed evaluates again
		return e, err
	}
	if t.Since++; e.Val < t.Best {
		t.Best, t.Since = e.Val, 0
	}
	return e, nil
}

// drawn returns the batches of an evaluation from the given one on: eval_iters of the training split, and as many of
// the validation split.
func (t *Trainer) drawn(first int) iter.Seq2[float64, error] {
	n := t.config.EvalIters
	return func(yield func(float64, error) bool) {
		h := fnv.New64a()
		h.Write([]byte("evaluate"))
		rng := rand.New(rand.NewPCG(t.config.Seed^h.Sum64(), uint64(t.Done)))
		starts := make([]int, t.config.BatchSize) // with Carry
		for i := range 2 * n {
			split := t.Corpus.Val()
			if i < n {
				split = t.Corpus.Train()
			}
			var err error
			if t.config.Carry {
				blocks := max(1, text.Windows(split, t.config.BlockSize))
				err = t.windows(split, i%n == 0, func(row int) int {
					if i%n == 0 {
						starts[row] = rng.IntN(blocks)
					}
					return (starts[row] + i%n) % blocks
				})
			} else {
				err = t.sample(split, rng)
			}
			if i >= first && !yield(1, err) {
				return
			}
		}
	}
}

// Averaged returns a model of its own whose trained weights are the averages of EMA, to export, to save or to write
// with. It is an error if EMA is 0.
func (t *Trainer) Averaged() (*Model, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if t.config.EMA == 0 {
		return nil, errors.New("averaged: ema: got 0, which keeps no averages, want a decay such as 0.999")
	}
	var m *Model
	_, err := graph.Build(graph.Float32, t.config.Seed, func(g *graph.Graph) (err error) {
		t.config.Configure(g)
		g.SetBlank(func(string) bool { return true })
		defer g.SetBlank(nil)
		m, err = New(g, t.config, 1)
		return err
	})
	if err != nil {
		return nil, errors.WithMessage(err, "averaged")
	}
	return m, errors.WithMessage(train.Overlay(m.Params(), t.Model.Params(), t.Averages()), "averaged")
}

// EvaluateAll returns the loss over every block of the validation split, without overlap: the mean over the targets
// that count. With Carry each row of a batch walks through a part of the split, from a state of zeros. If progress is
// not nil, it is called with the number of blocks done so far. All machines of a Group must call it.
func (t *Trainer) EvaluateAll(ctx context.Context, progress func(done, total int)) (loss float64, err error) {
	if err := t.check(); err != nil {
		return 0, err
	}
	batches := func(yield func(float64, error) bool) {
		done, total := 0, text.Windows(t.Corpus.Val(), t.config.BlockSize)
		for rows, err := range t.blocks(t.Corpus.Val()) {
			if !yield(t.counted(), err) {
				return
			}
			done += rows
			if progress != nil {
				progress(done, total)
			}
		}
	}
	err = t.Losses(ctx, batches, func(_ []float64, mean float64) { loss = mean })
	return loss, err
}

// blocks fills the model's batch with all blocks of a split, without overlap, and yields the number of rows that have
// one. With Carry every row has its own part of the split, and walks through it.
func (t *Trainer) blocks(s text.Split) iter.Seq2[int, error] {
	n := t.config.BatchSize
	if !t.config.Carry {
		return text.Blocks(s, t.Model.Tokens.Ints(), t.Model.Targets.Ints(), t.config.BlockSize)
	}
	return func(yield func(int, error) bool) {
		all := max(1, text.Windows(s, t.config.BlockSize))
		for step := range (all + n - 1) / n {
			rows := 0
			err := t.windows(s, step == 0, func(row int) int {
				from, to := row*all/n, (row+1)*all/n
				if from+step >= to {
					return -1
				}
				rows++
				return from + step
			})
			if !yield(rows, err) || err != nil {
				return
			}
		}
	}
}

// counted returns the number of targets that count, divided by block_size.
func (t *Trainer) counted() float64 {
	n := 0
	for _, y := range t.Model.Targets.Ints() {
		if y != text.Ignore {
			n++
		}
	}
	return float64(n) / float64(t.config.BlockSize)
}
