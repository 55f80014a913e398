package kernel

import "math"

// Heads describes attention on packed projections: qkv is (Batch·Context, Heads·(2·QK + V)), its columns the queries of
// all heads, then the keys, then the values.
type Heads struct{ Batch, Context, Heads, QK, V int }

// Width is the number of columns of qkv.
func (h Heads) Width() int { return h.Heads * (2*h.QK + h.V) }

// split views the queries, keys and values of head j of sequence b in a packed matrix.
func split[T Float](h Heads, packed []T, b, j int) (q, k, v Matrix[T]) {
	m := Mat(packed, h.Width()).from(b*h.Context, 0)
	return m.from(0, j*h.QK), m.from(0, (h.Heads+j)*h.QK), m.from(0, 2*h.Heads*h.QK+j*h.V)
}

// maskOf is the additive mask of sequence b: one for all, or one each.
func maskOf[T Float](h Heads, mask []T, b int) []T {
	n := h.Context * h.Context
	if len(mask) == n {
		return mask
	}
	return mask[b*n : (b+1)*n]
}

// softmaxRows is softmax of every row of x and mask (n, cols).
func softmaxRows[T Float](x, mask []T, cols int) {
	mask = mask[:len(x)]
	if fast := vectorsOf[T](); fast != nil {
		fast.softmax(single(x), single(mask), cols, len(x)/cols)
		return
	}
	for ; len(x) > 0; x, mask = x[cols:], mask[cols:] {
		softmax(x[:cols], mask[:cols])
	}
}

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

// softmaxBackward makes d = p∘(d − Σ p∘d)·scale in every row of d and p (n, cols).
func softmaxBackward[T Float](d, p []T, cols int, scale T) {
	p = p[:len(d)]
	if fast := vectorsOf[T](); fast != nil {
		fast.softmaxBackward(single(d), single(p), cols, len(d)/cols, float32(scale))
		return
	}
	for ; len(d) > 0; d, p = d[cols:], p[cols:] {
		var dot T
		for j, x := range p[:cols] {
			if x != 0 {
				dot += x * d[j]
			}
		}
		for j, x := range p[:cols] {
			d[j] = x * (d[j] - dot) * scale
		}
	}
}
