package kernel

// Norm holds the operands of a norm over the rows of X (n, d), and what its forward pass stores for its backward pass.
type Norm[T Float] struct {
	X, W, B      []T // (n, d), gains (d) and shifts (d); B is optional
	Mean, Spread []T // (n): μ of every row, and 1/σ in LayerNorm, σ in LayerNormSigma; RMSNorm has only Spread, 1/rms
	Eps          float64
}

// NormGrads holds the gradients of X, W and B, and 2·Parts·d numbers of scratch.
type NormGrads[T Float] struct{ X, W, B, Scratch []T }

// part returns rows from … to of n, and the cleared sums to which part i of Parts adds its gradients of W and B.
func (g NormGrads[T]) part(i, n int) (from, to int, dw, db []T) {
	d := len(g.Scratch) / (2 * Parts)
	dw, db = g.Scratch[i*d:(i+1)*d], g.Scratch[(Parts+i)*d:(Parts+i+1)*d]
	clear(dw)
	clear(db)
	return i * n / Parts, (i + 1) * n / Parts, dw, db
}

// fold adds up the parts in their order, for W and B unless they are nil.
func (g NormGrads[T]) fold(p *Pool) {
	if g.W != nil {
		fold(p, g.W, g.Scratch[:len(g.Scratch)/2])
	}
	if g.B != nil {
		fold(p, g.B, g.Scratch[len(g.Scratch)/2:])
	}
}

// normBackward holds the arguments of a backward pass.
type normBackward[T Float] struct {
	Norm[T]
	dy    []T
	grads NormGrads[T]
}

// moments returns the mean and the variance of x. It computes the variance from the distances to the mean: a difference
// of large squares would lose it.
func moments[T Float](x []T) (mean, variance float64) {
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		c := float64(v) - mean
		variance += float64(c * c)
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
		dw[j] += T(dy[j] * hat)
		db[j] += dy[j]
	}
	return g / float64(len(x)), gx / float64(len(x))
}
