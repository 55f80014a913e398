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
	if err := t.begin(); err != nil {
		return e, err
	}
	defer t.busy.Unlock()
	h := fnv.New64a()
	h.Write([]byte("evaluate"))
	rng := rand.New(rand.NewPCG(t.config.Seed^h.Sum64(), uint64(t.Done)))
	for _, part := range []struct {
		split text.Split
		loss  *float64
	}{{t.Corpus.Train(), &e.Train}, {t.Corpus.Val(), &e.Val}} {
		losses := make([]float64, t.config.EvalIters)
		for i := range losses {
			if err := t.sample(part.split, rng); err != nil {
				return e, err
			}
			if !t.Mine(i) {
				continue
			}
			if losses[i], err = t.Loss(ctx); err != nil {
				return e, err
			}
		}
		if err := t.Gather(losses); err != nil {
			return e, err
		}
		for _, loss := range losses {
			*part.loss += loss / float64(t.config.EvalIters)
		}
	}
	t.Best = min(t.Best, e.Val)
	return e, nil
}

// EvaluateAll returns the loss over every block of the validation split, without overlap: the mean over the targets
// that count. If progress is not nil, it is called with the number of blocks done so far. All machines of a Group must
// call it.
func (t *Trainer) EvaluateAll(ctx context.Context, progress func(done, total int)) (float64, error) {
	if err := t.begin(); err != nil {
		return 0, err
	}
	defer t.busy.Unlock()
	total := (t.Corpus.Val().Len() - 1) / t.config.BlockSize
	var losses, counts []float64
	done := 0
	tokens, targets := t.Model.Tokens.Ints(), t.Model.Targets.Ints()
	for rows, err := range text.Blocks(t.Corpus.Val(), tokens, targets, t.config.BlockSize) {
		if err != nil {
			return 0, err
		}
		loss := 0.0
		if t.Mine(len(losses)) {
			if loss, err = t.Loss(ctx); err != nil {
				return 0, err
			}
		}
		losses, counts = append(losses, loss), append(counts, t.counted())
		done += rows
		if progress != nil {
			progress(done, total)
		}
	}
	if err := t.Gather(losses); err != nil {
		return 0, err
	}
	var sum, counted float64
	for i, n := range counts {
		sum += losses[i] * n
		counted += n
	}
	return sum / counted, nil
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
