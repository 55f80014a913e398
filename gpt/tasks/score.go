package tasks

import (
	"cmp"
	"context"
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
	"gonum.org/v1/gonum/floats"
)

// Score is the result of a model on test rows: means over the answers, with their standard errors. As the answers of a
// row depend on each other, the errors are for a ratio of sums over rows; they are NaN for a single row.
type Score struct {
	Rows, Answers int
	Accuracy      float64 // the share of the answers that have the largest logit, the first of equals
	AccuracyError float64
	Loss          float64 // in nats per answer
	LossError     float64
}

// Score measures a model on the test rows. The function returns the logits (T, V) of a text of BlockSize tokens. For a
// gpt.Model these are the activation "logits" of a probe of inspect.Tap. A logit that is not finite is an error.
func (t Task) Score(ctx context.Context, logits func(tokens []int) (graph.Tensor, error)) (s Score, _ error) {
	if ctx == nil || logits == nil || t.BlockSize < 1 || t.BlockSize > mostIDs {
		return s, errors.Errorf("tasks: %s: score: got a nil context, no function, or BlockSize %d outside 1 to %d",
			t.Name, t.BlockSize, mostIDs)
	}
	var rows []counts
	x, y := make([]int, t.BlockSize), make([]int, t.BlockSize)
	for _, err := range text.Blocks(t.Val(), x, y, t.BlockSize) {
		var c counts
		if err = cmp.Or(err, ctx.Err()); err == nil {
			c, err = count(logits, x, y)
		}
		if err != nil {
			return Score{}, errors.WithMessagef(err, "tasks: %s: score: test row %d", t.Name, len(rows))
		}
		rows = append(rows, c)
		s.Rows, s.Answers = s.Rows+1, s.Answers+int(c.answers)
	}
	s.Accuracy, s.AccuracyError = ratio(rows, func(c counts) float64 { return c.right })
	s.Loss, s.LossError = ratio(rows, func(c counts) float64 { return c.loss })
	return s, nil
}

// counts are sums over the answers of a row.
type counts struct{ answers, right, loss float64 }

// count compares logits with targets.
func count(logits func([]int) (graph.Tensor, error), tokens, targets []int) (c counts, err error) {
	all, err := logits(tokens)
	if err != nil {
		return c, err
	}
	for i, y := range targets {
		if y == text.Ignore {
			continue
		}
		z := all.Row(i)
		if y >= z.Len() {
			return c, errors.Errorf("got logits of shape %v, want (T, V) with T > %d and V > %d", all.Shape, i, y)
		}
		if err := z.Finite("logits"); err != nil {
			return c, errors.WithMessagef(err, "position %d", i)
		}
		values := z.Floats()
		c.answers++
		c.loss += floats.LogSumExp(values) - values[y]
		if floats.MaxIdx(values) == y {
			c.right++
		}
	}
	return c, nil
}

// ratio returns a sum over the answers of all rows divided by their number, and its standard error.
func ratio(rows []counts, sum func(counts) float64) (mean, deviation float64) {
	answers, n := 0.0, float64(len(rows))
	for _, c := range rows {
		mean, answers = mean+sum(c), answers+c.answers
	}
	mean /= answers
	for _, c := range rows {
		d := sum(c) - mean*c.answers
		deviation += d * d
	}
	return mean, math.Sqrt(deviation*n/(n-1)) / answers
}
