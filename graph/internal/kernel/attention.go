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

// Attention computes y = concat over heads of softmax(q·kᵀ/√QK + mask)·v, y (Batch·Context, Heads·V), and leaves the
// weights in p (Batch, Heads, Context, Context), undropped. Dropout acts on the weights.
func Attention[T Float](pool *Pool, h Heads, y, qkv, mask, p []T, drop Dropping) {
	n := h.Context
	scale := T(1 / math.Sqrt(float64(h.QK)))
	pool.For(h.Batch*h.Heads, func(task int) {
		b, j := task/h.Heads, task%h.Heads
		q, k, v := split(h, qkv, b, j)
		weights := p[task*n*n : (task+1)*n*n]
		GemmSerial(n, n, h.QK, scale, q, k.T(), 0, Mat(weights, n))
		m := maskOf(h, mask, b)
		softmaxRows(weights, m, n)
		if drop.P > 0 {
			dropped := make([]T, n*n)
			dropEntries(dropped, weights, drop, task*n*n)
			weights = dropped
		}
		GemmSerial(n, h.V, n, 1, Mat(weights, n), v, 0, Mat(y, h.Heads*h.V).from(b*n, j*h.V))
	})
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

// AttentionBackward computes the gradient of the packed projections from dy and the weights that Attention left:
// Δv = pᵀ·dy, Δp = dy·vᵀ, Δs = p∘(Δp − rowsum(Δp∘p))/√QK, Δq = Δs·k, Δk = Δsᵀ·q. scratch is as large as p.
func AttentionBackward[T Float](pool *Pool, h Heads, dqkv, qkv, p, dy, scratch []T, drop Dropping) {
	n := h.Context
	scale := T(1 / math.Sqrt(float64(h.QK)))
	pool.For(h.Batch*h.Heads, func(task int) {
		b, j := task/h.Heads, task%h.Heads
		q, k, v := split(h, qkv, b, j)
		dq, dk, dv := split(h, dqkv, b, j)
		weights, ds := p[task*n*n:(task+1)*n*n], scratch[task*n*n:(task+1)*n*n]
		out := Mat(dy, h.Heads*h.V).from(b*n, j*h.V)
		used := weights
		if drop.P > 0 {
			dropEntries(ds, weights, drop, task*n*n)
			used = ds
		}
		GemmSerial(n, h.V, n, 1, Mat(used, n).T(), out, 0, dv)
		GemmSerial(n, n, h.V, 1, out, v.T(), 0, Mat(ds, n))
		if drop.P > 0 {
			dropEntries(ds, ds, drop, task*n*n)
		}
		softmaxBackward(ds, weights, n, scale)
		GemmSerial(n, h.QK, n, 1, Mat(ds, n), k, 0, dq)
		GemmSerial(n, h.QK, n, 1, Mat(ds, n).T(), q, 0, dk)
	})
}
