package text

import "github.com/pkg/errors"

// rows is a Split of independent sequences, each with size tokens and targets. One more token follows the last row, in
// the place of the last target of an ordinary text.
type rows struct {
	size            int
	tokens, targets []int32
}

// add appends a row: the first size tokens of an example as inputs, and the targets that follow them.
func (r *rows) add(ids []int, answer []bool) error {
	learnt := 0
	for i := range r.size {
		x, y := 0, Ignore
		if i < len(ids) {
			x = ids[i]
		}
		if i+1 < len(ids) && answer[i+1] {
			y = ids[i+1]
			learnt++
		}
		r.tokens, r.targets = append(r.tokens, int32(x)), append(r.targets, int32(y))
	}
	if learnt == 0 {
		return errors.Errorf("got %d tokens without an answer's among the first block_size %d, want some to learn",
			len(ids), r.size)
	}
	return nil
}

// cut returns the first n rows and the others.
func (r *rows) cut(n int) (first, rest *rows) {
	n *= r.size
	return &rows{r.size, r.tokens[:n], r.targets[:n]}, &rows{r.size, r.tokens[n:], r.targets[n:]}
}

// Len returns the number of tokens plus one, for the token after the last row.
func (r *rows) Len() int { return len(r.tokens) + 1 }

// Read implements Split. The token after the last row is 0.
func (r *rows) Read(ids []int, at int) error {
	if at < 0 || at > r.Len()-len(ids) {
		return errors.Errorf("answers: got %d tokens from position %d on, want them within 0 … %d",
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
