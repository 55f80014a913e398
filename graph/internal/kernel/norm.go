package kernel

// Norm is the operands of a norm over the rows of X (n, d), and what its forward pass leaves for its backward pass.
type Norm[T Float] struct {
	X, W, B      []T // (n, d), gains (d) and shifts (d); B is nil for none
	Mean, Spread []T // (n): μ of every row, and 1/σ in LayerNorm, σ in LayerNormSigma
	Eps          float64
}

// NormGrads is where the gradients of X, W and B go, and 2·Parts·d of scratch.
type NormGrads[T Float] struct{ X, W, B, Scratch []T }

// sum computes the gradients of W and B, each where it is not nil: it calls part for Parts parts of n rows, which adds
// theirs to dw and db, and adds up the parts in their order.
func (g NormGrads[T]) sum(p *Pool, n int, part func(from, to int, dw, db []T)) {
	clear(g.Scratch)
	d := len(g.Scratch) / (2 * Parts)
	dws, dbs := g.Scratch[:Parts*d], g.Scratch[Parts*d:]
	p.For(Parts, func(i int) { part(i*n/Parts, (i+1)*n/Parts, dws[i*d:(i+1)*d], dbs[i*d:(i+1)*d]) })
	if g.W != nil {
		fold(g.W, dws)
	}
	if g.B != nil {
		fold(g.B, dbs)
	}
}

// moments is the mean and the variance of x. The variance is that of the distances from the mean: a difference of large
// squares would lose it.
func moments[T Float](x []T) (mean, variance float64) {
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		c := float64(v) - mean
		variance += c * c
	}
	return mean, variance / float64(len(x))
}

// scaleShift computes y = (x − mean)·inv∘w + b.
func scaleShift[T Float](y, x, w, b []T, mean, inv T) {
	for j, v := range x {
		y[j] = (v - mean) * inv * w[j]
	}
	for j, v := range b {
		y[j] += v
	}
}

// project adds dy∘x̂ to dw and dy to db, with x̂ = (x − mean)·inv, and returns the means of g and g∘x̂ with g = dy∘w.
func project[T Float](dw, db, x, w, dy []T, mean, inv T) (g, gx float64) {
	for j, v := range x {
		hat := (v - mean) * inv
		delta := dy[j] * w[j]
		g += float64(delta)
		gx += float64(delta * hat)
		dw[j] += dy[j] * hat
		db[j] += dy[j]
	}
	return g / float64(len(x)), gx / float64(len(x))
}
