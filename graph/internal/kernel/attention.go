package kernel

import "math"

// Heads describes attention: in every one of Batch sequences Queries tokens look at Keys tokens, with so many Heads, whose
// queries and keys are QK wide and whose values V.
type Heads struct{ Batch, Queries, Keys, Heads, QK, V int }

// Width is the number of columns of packed queries, keys and values.
func (h Heads) Width() int { return h.Heads * (2*h.QK + h.V) }

// Projections are the queries, keys and values of all heads, or the gradients of them. The tokens are the rows; in each, a
// head lies beside the next.
type Projections[T Float] struct{ Q, K, V Matrix[T] }

// Packed takes apart one matrix (Batch·Queries, Heads·(2·QK + V)) of tokens that look at one another.
func Packed[T Float](h Heads, qkv []T) Projections[T] {
	m := Mat(qkv, h.Width())
	return Projections[T]{m, m.from(0, h.Heads*h.QK), m.from(0, 2*h.Heads*h.QK)}
}

// Crossed takes queries (Batch·Queries, Heads·QK), and keys and values in one matrix (Batch·Keys, Heads·(QK + V)).
func Crossed[T Float](h Heads, q, kv []T) Projections[T] {
	m := Mat(kv, h.Heads*(h.QK+h.V))
	return Projections[T]{Mat(q, h.Heads*h.QK), m, m.from(0, h.Heads*h.QK)}
}

// head is what belongs to head j of sequence b.
func (p Projections[T]) head(h Heads, b, j int) Projections[T] {
	return Projections[T]{p.Q.from(b*h.Queries, j*h.QK), p.K.from(b*h.Keys, j*h.QK), p.V.from(b*h.Keys, j*h.V)}
}

// Mask is what is added to the scores: matrices (Queries, Keys), for each of Batch sequences, or 1 for all, one for each of
// Heads heads, or 1 for all.
type Mask[T Float] struct {
	Data         []T
	Batch, Heads int
}

// index counts the matrices: which one is that of head j of sequence b.
func (m Mask[T]) index(b, j int) int { return b%m.Batch*m.Heads + j%m.Heads }

// softmax turns a row of scores into weights, in place: e^(x + mask − max)/Σ, exactly 0 where the mask is −∞.
func softmax[T Float](x, mask []T) {
	if fast := vectorsOf[T](); fast != nil && len(x) > 0 {
		fast.softmax(single(x), single(mask[:len(x)]), len(x), 1)
		return
	}
	last := len(x)
	for last > 0 && math.IsInf(float64(mask[last-1]), -1) { // a causal row ends at its diagonal
		last--
	}
	clear(x[last:])
	x = x[:last]
	if last == 0 {
		return
	}
	top := T(math.Inf(-1))
	for j := range x {
		if x[j] += mask[j]; math.IsInf(float64(mask[j]), -1) {
			x[j] = mask[j] // whatever the score is
		}
		top = max(top, x[j])
	}
	var sum T
	for j, v := range x {
		x[j] = Exp(v - top)
		sum += x[j]
	}
	for j := range x {
		x[j] /= sum
	}
}
