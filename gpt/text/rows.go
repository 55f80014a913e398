package text

import (
	"iter"
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// rows is a Split of independent sequences, each with size tokens and targets. One more token follows the last row, in
// the place of the last target of an ordinary text.
type rows struct {
	size            int
	tokens, targets []int32
}

// Rows returns a Split of independent rows, for a Dataset. Each row is a list of 1 to blockSize tokens, and the target
// of each token, which need not be the token after it: Ignore if there is nothing to learn. Short rows are padded at
// their end with the token 0 and the target Ignore. Sample and Blocks read complete rows. Rows keeps no slice.
func Rows(all iter.Seq2[[]int, []int], blockSize int) (Split, error) {
	switch {
	case all == nil:
		return nil, errors.New("rows: got nil, want the rows")
	case blockSize < 1 || blockSize > field.MaxSize:
		return nil, errors.Errorf("rows: block_size: got %d, want 1 to %d", blockSize, field.MaxSize)
	}
	r := &rows{size: blockSize}
	for tokens, targets := range all {
		if err := r.check(tokens, targets); err != nil {
			return nil, errors.WithMessagef(err, "rows: row %d", len(r.tokens)/blockSize)
		}
		r.put(tokens, targets)
	}
	return r, nil
}

// check returns an error unless tokens and targets are a row.
func (r *rows) check(tokens, targets []int) error {
	if n := len(tokens); n < 1 || n > r.size || len(targets) != n {
		return errors.Errorf("got %d tokens and %d targets, want the same number, 1 to block_size %d",
			n, len(targets), r.size)
	}
	for i, x := range tokens {
		if y := targets[i]; x < 0 || x > math.MaxInt32 || y < Ignore || y > math.MaxInt32 {
			return errors.Errorf("position %d: got token %d and target %d, want 0 to %d, or the target %d",
				i, x, y, math.MaxInt32, Ignore)
		}
	}
	return nil
}

// put appends a row of at most size tokens, and returns the number of its targets that count.
func (r *rows) put(tokens, targets []int) (learnt int) {
	for i := range r.size {
		x, y := 0, Ignore
		if i < len(tokens) {
			x, y = tokens[i], targets[i]
		}
		if y != Ignore {
			learnt++
		}
		r.tokens, r.targets = append(r.tokens, int32(x)), append(r.targets, int32(y))
	}
	return learnt
}

// Len returns the number of tokens plus one, for the token after the last row.
func (r *rows) Len() int { return len(r.tokens) + 1 }

// Read implements Split. The token after the last row is 0.
func (r *rows) Read(ids []int, at int) error {
	if at < 0 || at > r.Len()-len(ids) {
		return errors.Errorf("rows: got %d tokens from position %d on, want them within 0 … %d",
			len(ids), at, r.Len())
	}
	for i := range ids {
		if ids[i] = 0; at+i < len(r.tokens) {
			ids[i] = int(r.tokens[at+i])
		}
	}
	return nil
}

// read fills x and y with complete rows from position at on.
func (r *rows) read(x, y []int, at int) {
	for i := range x {
		x[i], y[i] = int(r.tokens[at+i]), int(r.targets[at+i])
	}
}

// learnt yields the targets that count.
func (r *rows) learnt(yield func(int, error) bool) {
	for _, y := range r.targets {
		if y != Ignore && !yield(int(y), nil) {
			return
		}
	}
}
