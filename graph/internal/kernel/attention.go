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
		for i := range n {
			softmax(weights[i*n:(i+1)*n], m[i*n:(i+1)*n])
		}
		if drop.P > 0 {
			dropped := make([]T, n*n)
			for i, w := range weights {
				dropped[i] = w * T(drop.Factor(task*n*n+i))
			}
			weights = dropped
		}
		GemmSerial(n, h.V, n, 1, Mat(weights, n), v, 0, Mat(y, h.Heads*h.V).from(b*n, j*h.V))
	})
}

// softmax turns a row of scores into weights, in place: e^(x + mask − max)/Σ, exactly 0 where the mask is −∞.
func softmax[T Float](x, mask []T) {
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
		x[j] += mask[j]
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
			for i, w := range weights {
				ds[i] = w * T(drop.Factor(task*n*n+i))
			}
			used = ds
		}
		GemmSerial(n, h.V, n, 1, Mat(used, n).T(), out, 0, dv)
		GemmSerial(n, n, h.V, 1, out, v.T(), 0, Mat(ds, n))
		if drop.P > 0 {
			for i := range ds {
				ds[i] *= T(drop.Factor(task*n*n + i))
			}
		}
		for i := range n {
			w, d := weights[i*n:(i+1)*n], ds[i*n:(i+1)*n]
			var dot T
			for c, x := range w {
				if x != 0 {
					dot += x * d[c]
				}
			}
			for c, x := range w {
				d[c] = x * (d[c] - dot) * scale
			}
		}
		GemmSerial(n, h.QK, n, 1, Mat(ds, n), k, 0, dq)
		GemmSerial(n, h.QK, n, 1, Mat(ds, n).T(), q, 0, dk)
	})
}
