package inspect

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Lanczos says how Largest searches.
type Lanczos struct {
	Seed          uint64  // of the first vector
	Tolerance     float64 // of Residual, as a fraction of the eigenvalue, such as 1e-3
	MaxIterations int     // each computes two gradients, and stores 8 bytes for each parameter

	Progress func(iteration int) // is called after each iteration; may be nil
}

// Eigenvalue is an approximate eigenvalue of a Hessian.
type Eigenvalue struct {
	Value      float64 // λ, in nats per squared unit of the parameters
	Residual   float64 // ‖Hy − λy‖ for the approximate eigenvector y, ‖y‖ = 1: an eigenvalue is at most this far from λ
	Iterations int
}

// StableRate returns 2/λ. Steps of gradient descent with a larger learning rate grow along the eigenvector instead of
// shrinking. It returns +Inf if λ is not positive.
func (e Eigenvalue) StableRate() float64 {
	if e.Value <= 0 {
		return math.Inf(1)
	}
	return 2 / e.Value
}

// Largest returns the largest eigenvalue of H by Lanczos's method (Lanczos 1950; for networks Ghorbani, Krishnan and
// Xiao 2019, arXiv 1901.10159). It builds orthonormal vectors Q = (q₁ … q_k) with QᵀHQ = T, tridiagonal:
//
//	β_k·q_k+1 = H·q_k − α_k·q_k − β_k−1·q_k−1    α_k = q_kᵀH·q_k
//
// For an eigenvector s of T with the eigenvalue λ, Qs is an approximate eigenvector of H, and its residual is
// β_k·|s_k|. Each vector is orthogonalised twice against all earlier ones, so that no eigenvalue is found again. The
// search ends when the residual of T's largest eigenvalue is at most Tolerance·|λ|, or after MaxIterations. A small
// residual does not exclude a larger eigenvalue whose eigenvector is almost orthogonal to q₁, which is drawn at random.
func (c *Curvature) Largest(ctx context.Context, o Lanczos) (e Eigenvalue, err error) {
	if c == nil || c.model == nil || ctx == nil {
		return e, errors.New("inspect: curvature: got none or no context (nil), want one of NewCurvature")
	}
	if !(0 <= o.Tolerance && o.Tolerance < 1) || o.MaxIterations < 1 {
		return e, errors.Errorf("inspect: lanczos: got Tolerance %v and MaxIterations %d, want 0 ≤ Tolerance < 1 and "+
			"at least 1", o.Tolerance, o.MaxIterations)
	}
	most := min(o.MaxIterations, c.Len())
	need, limit := 8*float64(c.Len())*float64(most), c.model.Graph.MemoryLimit()
	if need > float64(limit) {
		return e, errors.Errorf("inspect: lanczos: MaxIterations: got %d, for vectors of %d numbers, %.0f bytes, "+
			"want at most %d bytes", most, c.Len(), need, limit)
	}
	if err := c.read(); err != nil {
		return e, err
	}
	k := &krylov{vectors: [][]float64{start(c.Len(), o.Seed)}}
	for e.Iterations < most {
		product, err := c.times(ctx, k.vectors[e.Iterations])
		if err != nil {
			return e, err
		}
		e.Iterations++
		if e.Value, e.Residual, err = k.extend(product); err != nil {
			return e, err
		}
		if o.Progress != nil {
			o.Progress(e.Iterations)
		}
		if e.Residual <= o.Tolerance*math.Abs(e.Value) {
			break
		}
	}
	return e, nil
}

// start returns a random vector of length 1.
func start(n int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 0x6c616e637a6f73))
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	floats.Scale(1/floats.Norm(v, 2), v)
	return v
}

// krylov holds orthonormal vectors and T.
type krylov struct {
	vectors     [][]float64
	alpha, beta []float64
}

// extend adds a row to T, and a vector, from the product H·q of the last one. It returns T's largest eigenvalue and its
// residual.
func (k *krylov) extend(product []float64) (value, residual float64, err error) {
	n := len(k.vectors)
	k.alpha = append(k.alpha, floats.Dot(k.vectors[n-1], product))
	for range 2 {
		for _, q := range k.vectors {
			floats.AddScaled(product, -floats.Dot(q, product), q)
		}
	}
	beta := floats.Norm(product, 2)
	t := mat.NewSymDense(n, nil)
	for i, a := range k.alpha {
		t.SetSym(i, i, a)
	}
	for i, b := range k.beta {
		t.SetSym(i, i+1, b)
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(t, true) {
		return 0, 0, errors.Errorf("inspect: lanczos: no eigenvalues found of a matrix %d × %d", n, n)
	}
	var s mat.Dense
	eigen.VectorsTo(&s)
	if k.beta = append(k.beta, beta); beta > 0 {
		floats.Scale(1/beta, product)
	}
	k.vectors = append(k.vectors, product)
	return eigen.Values(nil)[n-1], beta * math.Abs(s.At(n-1, n-1)), nil // values are in ascending order
}
