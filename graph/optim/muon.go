package optim

import (
	"cmp"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pkg/errors"
)

// Muon moves a matrix of a block along its momentum with nearly equal singular values (Jordan et al. 2024,
// https://kellerjordan.github.io/posts/muon): for the gradient g,
//
//	m ← μm + g,  u = g + μm,  X = u/‖u‖
//	five times A = XXᵀ, X ← aX + (bA + cA²)X,  (a, b, c) = (3.4445, −4.7750, 2.0315)
//	θ ← θ − η(sX + λθ)
//
// The iteration, of Newton and Schulz, moves singular values of X between about 0.005 and 1 into 0.68 … 1.13. Of two
// equal forms it takes the cheaper one: if X has more rows than columns, A = XᵀX and X ← aX + X(bA + cA²). If u is 0,
// so is X. Each matrix that a parameter packs (Step.Columns) is updated separately. A matrix is (in, out), the
// transpose of the published one: there, rows are out and columns are in.
type Muon struct {
	Momentum float64 // 0 ≤ μ < 1, published as 0.95
	Steps    int     // number of iterations, at most 100; 0 means five

	// Scale is the rule for s. "rms", the default, is 0.2·√max(in, out) (Liu et al. 2025, arXiv:2502.16982): the update
	// is as large as a typical one of AdamW, so that both use the same η and λ. "spectral" is √max(1, out/in), as
	// published first, with η = 0.02.
	Scale string
}

// State returns one moment, m.
func (o Muon) State() (State, error) {
	err := check(fraction("momentum", o.Momentum))
	switch {
	case err != nil:
	case o.Steps < 0 || o.Steps > 100:
		err = errors.Errorf("steps: got %d, want 0 to 100", o.Steps)
	case o.Scale != "" && o.Scale != "rms" && o.Scale != "spectral":
		err = errors.Errorf("scale: got %q, want rms or spectral", o.Scale)
	}
	return State{Name: "muon", Moments: 1, Whole: true, matrix: true}, err
}

// Step updates s.W and s.M.
func (o Muon) Step(s Step) {
	if s.pool == nil {
		s.pool = kernel.NewPool(1)
	}
	if len(s.W.Shape) == 2 && s.W.Len() == s.W.Shape[0]*s.W.Shape[1] { // New refuses others
		muon(o, s, s.W.F32, s.G.F32, s.M.F32)
		muon(o, s, s.W.F64, s.G.F64, s.M.F64)
	}
}

func muon[T kernel.Float](o Muon, s Step, w, g, m []T) {
	if len(w) == 0 { // the other type
		return
	}
	in, width, columns, pool := s.W.Shape[0], s.W.Shape[1], s.Columns, s.pool
	if len(columns) == 0 {
		columns = []int{width}
	}
	n := min(in, slices.Max(columns))
	space := room[T](s, len(w)+4*n*n)
	u, momentum, scale := space[:len(w)], T(o.Momentum), T(s.Scale)
	pool.Range(len(w), kernel.Grain, func(from, to int) {
		for i := from; i < to; i++ {
			m[i] = momentum*normal(m[i]) + scale*g[i]
			u[i] = scale*g[i] + momentum*m[i]
		}
	})
	for from, i := 0, 0; i < len(columns); from, i = from+columns[i], i+1 {
		out := columns[i]
		x, w := gemm.Mat(u, width).From(0, from), gemm.Mat(w, width).From(0, from)
		normalise(pool, x, in, out)
		p := polynomial(pool, cmp.Or(o.Steps, 5), x, in, out, space[len(u):])
		keep, rate := T(1-s.Rate*s.Decay), -T(s.Rate*o.scale(in, out))
		if in <= out {
			gemm.Mul(pool, in, out, in, rate, p, x, keep, w)
		} else {
			gemm.Mul(pool, in, out, out, rate, x, p, keep, w)
		}
	}
}

// scale returns s for a matrix (in, out).
func (o Muon) scale(in, out int) float64 {
	if o.Scale == "spectral" {
		return math.Sqrt(max(1, float64(out)/float64(in)))
	}
	return 0.2 * math.Sqrt(float64(max(in, out)))
}

// normalise divides a matrix by its Frobenius norm, unless that is 0.
func normalise[T kernel.Float](pool *kernel.Pool, x gemm.Matrix[T], rows, cols int) {
	squares := 0.0
	for i := range rows {
		squares += kernel.SumSquares(pool, x.Row(i)[:cols])
	}
	if squares == 0 {
		return
	}
	inverse := 1 / math.Sqrt(squares)
	pool.Rows(rows, cols, func(from, to int) {
		for i := from; i < to; i++ {
			row := x.Row(i)[:cols]
			for j, v := range row {
				row[j] = T(float64(v) * inverse)
			}
		}
	})
}

// polynomial returns the matrix P for which the iteration ends with PX, or with XP if X has more rows than columns. P
// is a polynomial in A = XXᵀ of the first X and commutes with it. So the iteration needs only small matrices: from
// P = I on, Q = aI + bA + cA², P ← QP, A ← QAQ.
func polynomial[T kernel.Float](
	pool *kernel.Pool, steps int, x gemm.Matrix[T], rows, cols int, space []T,
) gemm.Matrix[T] {
	const a, b, c = 3.4445, -4.7750, 2.0315
	n := min(rows, cols)
	square := func(i int) gemm.Matrix[T] { return gemm.Mat(space[i*n*n:(i+1)*n*n], n) }
	as, p, q, spare := square(0), square(1), square(2), square(3)
	if rows <= cols {
		gemm.Mul(pool, n, n, cols, 1, x, x.T(), 0, as)
	} else {
		gemm.Mul(pool, n, n, rows, 1, x.T(), x, 0, as)
	}
	for i := range steps {
		copy(q.Data, as.Data)
		gemm.Mul(pool, n, n, n, c, as, as, b, q)
		diagonal(q, a)
		if i == 0 {
			copy(p.Data, q.Data)
		} else {
			gemm.Mul(pool, n, n, n, 1, q, p, 0, spare)
			p, spare = spare, p
		}
		if i < steps-1 {
			gemm.Mul(pool, n, n, n, 1, q, as, 0, spare)
			gemm.Mul(pool, n, n, n, 1, spare, q, 0, as)
		}
	}
	return p
}

// diagonal adds a number to the entries of a diagonal.
func diagonal[T kernel.Float](x gemm.Matrix[T], a T) {
	for i := 0; i < len(x.Data); i += x.Stride + 1 {
		x.Data[i] += a
	}
}
