package gpt

import (
	"context"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// Evaluation is the loss on the two splits, in nats per token.
type Evaluation struct{ Train, Val float64 }

// BitsPerChar returns the validation loss in bits per token, which are bits per character with a character tokenizer.
func (e Evaluation) BitsPerChar() float64 { return e.Val / math.Ln2 }

// Evaluate estimates both losses as nanoGPT does, over eval_iters random batches of each split. The batches depend only
// on the seed and the step, so evaluating does not change the training. It also updates Best. All machines of a Group
// must call it; they share the work.
func (t *Trainer) Evaluate(ctx context.Context) (e Evaluation, err error) {
	if err := t.check(); err != nil {
		return e, err
	}
	n := t.config.EvalIters
	batches := func(yield func(float64, error) bool) {
		h := fnv.New64a()
		h.Write([]byte("evaluate"))
		rng := rand.New(rand.NewPCG(t.config.Seed^h.Sum64(), uint64(t.Done)))
		for i := range 2 * n {
			split := t.Corpus.Val()
			if i < n {
				split = t.Corpus.Train()
			}
			if !yield(1, t.sample(split, rng)) {
				return
			}
		}
	}
	err = t.Losses(ctx, batches, func(losses []float64, _ float64) {
		for i := range n {
			e.Train += losses[i] / float64(n)
			e.Val += losses[n+i] / float64(n)
		}
		t.Best = min(t.Best, e.Val)
	})
	return e, err
}

// EvaluateAll returns the loss over every block of the validation split, without overlap: the mean over the targets
// that count. If progress is not nil, it is called with the number of blocks done so far. All machines of a Group must
// call it.
func (t *Trainer) EvaluateAll(ctx context.Context, progress func(done, total int)) (loss float64, err error) {
	if err := t.check(); err != nil {
		return 0, err
	}
	batches := func(yield func(float64, error) bool) {
		done, total := 0, (t.Corpus.Val().Len()-1)/t.config.BlockSize
		tokens, targets := t.Model.Tokens.Ints(), t.Model.Targets.Ints()
		for rows, err := range text.Blocks(t.Corpus.Val(), tokens, targets, t.config.BlockSize) {
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
