package attention

// Places holds the places of the new tokens of a step in a cache. Sequence i of the step is sequence Rows[i] of the
// cache, and its first new token has position At[i]. If Rows is nil, all sequences of the cache take the step, in their
// order. A single position holds for all of them.
type Places struct{ Rows, At []int }

// count returns the number of sequences that take the step, of a cache of batch sequences.
func (p Places) count(batch int) int {
	if p.Rows == nil {
		return batch
	}
	return len(p.Rows)
}

// Of returns the sequence of the cache and the position of the first new token, for sequence i of the step.
func (p Places) Of(i int) (row, at int) {
	row, at = i, p.At[min(i, len(p.At)-1)]
	if p.Rows != nil {
		row = p.Rows[i]
	}
	return row, at
}

// longest returns the largest position.
func (p Places) longest() (at int) {
	for _, n := range p.At {
		at = max(at, n)
	}
	return at
}
