package optim

import (
	"cmp"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
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
	return State{Name: "muon", Moments: 1, Whole: true, Products: o.products, matrix: true}, err
}

// products returns, for each matrix of m × n numbers, n ≤ m, and k iterations, n²m for A, (4k−3)n³ for the polynomial
// and 2n²m for its product with X.
func (o Muon) products(shape, columns []int) (sum float64) {
	k := float64(cmp.Or(o.Steps, 5))
	for _, out := range matrices(shape, columns) {
		n, m := float64(min(shape[0], out)), float64(max(shape[0], out))
		sum += float64(3*n*n*m) + float64((float64(4*k)-3)*n*n*n)
	}
	return sum
}

// Step updates s.W and s.M.
func (o Muon) Step(s Step) {
	if len(s.W.Shape) == 2 && s.W.Len() == s.W.Shape[0]*s.W.Shape[1] { // New refuses others
		muon[float32](o, s)
		muon[float64](o, s)
	}
}

func muon[T kernel.Float](o Muon, s Step) {
	eachMatrix(s, func(_, in, out int, w, g, m, _ gemm.Matrix[T]) {
		n, steps := min(in, out), cmp.Or(o.Steps, 5)
		size := in * out
		if steps > mostOfSquare {
			size *= 2
		}
		space := room[T](s, size+4*n*n)
		u, next, space := gemm.Mat(space[:in*out], out), gemm.Mat(space[size-in*out:size], out), space[size:]
		momentum, scale := T(o.Momentum), T(s.Scale)
		for i := range in {
			g, m, u := g.Row(i)[:out], m.Row(i)[:out], u.Row(i)[:out]
			for j, g := range g {
				m[j] = T(momentum*normal(m[j])) + T(scale*g)
				u[j] = T(scale*g) + T(momentum*m[j])
			}
		}
		normalise(u.Data)
		for ; steps > mostOfSquare; steps -= stepsOfSquare {
			multiply(in, out, newtonB, polynomial(stepsOfSquare, u, in, out, space), u, 0, next)
			u, next = next, u
		}
		keep, rate := T(1-float64(s.Rate*s.Decay)), -T(newtonB*s.Rate*o.scale(in, out))
		multiply(in, out, rate, polynomial(steps, u, in, out, space), u, keep, w)
	})
}

// multiply computes c ← alpha·PX + beta·c, or alpha·XP + beta·c if X (in, out) has more rows than columns.
func multiply[T kernel.Float](in, out int, alpha T, p, x gemm.Matrix[T], beta T, c gemm.Matrix[T]) {
	if in <= out {
		gemm.MulSerial(in, out, in, alpha, p, x, beta, c)
	} else {
		gemm.MulSerial(in, out, out, alpha, x, p, beta, c)
	}
}

// eachMatrix calls f with the index, the rows and the columns of every matrix that the parameter consists of, and with
// its entries in W, G, M and V.
func eachMatrix[T kernel.Float](s Step, f func(i, in, out int, w, g, m, v gemm.Matrix[T])) {
	w, g, m, v := numbers[T](s.W), numbers[T](s.G), numbers[T](s.M), numbers[T](s.V)
	if len(w) == 0 { // the other type
		return
	}
	width, from := s.W.Shape[1], 0
	for i, out := range packed(width, s.Columns) {
		at := func(x []T) gemm.Matrix[T] { return gemm.Mat(x, width).From(0, from) }
		f(i, s.W.Shape[0], out, at(w), at(g), at(m), at(v))
		from += out
	}
}

// matrices returns the widths of the matrices of a parameter with this shape, none unless it is the shape of a matrix.
func matrices(shape, columns []int) []int {
	if len(shape) != 2 {
		return nil // New refuses it
	}
	return packed(shape[1], columns)
}

// packed returns the widths of the matrices of a parameter: columns, or one of the entire width.
func packed(width int, columns []int) []int {
	if len(columns) == 0 {
		return []int{width}
	}
	return columns
}

// numbers returns the entries of t in type T, or none.
func numbers[T kernel.Float](t graph.Tensor) []T {
	if x, ok := any(t.F32).([]T); ok {
		return x
	}
	x, _ := any(t.F64).([]T)
	return x
}

// scale returns s for a matrix (in, out).
func (o Muon) scale(in, out int) float64 {
	if o.Scale == "spectral" {
		return math.Sqrt(max(1, float64(out)/float64(in)))
	}
	return 0.2 * math.Sqrt(float64(max(in, out)))
}

// normalise divides x by its norm, unless that is 0. The squares of a float64 may be too large or too small.
func normalise[T kernel.Float](x []T) {
	squares := kernel.SumSquaresSerial(x)
	if !(squares > 0x1p-900 && squares <= math.MaxFloat64) {
		largest := 0.0
		for _, v := range x {
			largest = max(largest, math.Abs(float64(v)))
		}
		if !(largest > 0 && largest <= math.MaxFloat64) {
			return
		}
		_, exponent := math.Frexp(largest)
		for i, v := range x {
			x[i] = T(math.Ldexp(float64(v), -exponent))
		}
		squares = kernel.SumSquaresSerial(x)
	}
	inverse := 1 / math.Sqrt(squares)
	for i, v := range x {
		x[i] = T(float64(v) * inverse)
	}
}

// a, b and c of the iteration.
const newtonA, newtonB, newtonC = 3.4445, -4.7750, 2.0315

// Where X has no singular value, rounding leaves eigenvalues of XXᵀ of either sign, and every step of polynomial
// multiplies them by a², whereas X itself grows by a there and stays below 1.3. So more steps than mostOfSquare compute
// X, and XXᵀ of it again, after every stepsOfSquare.
const mostOfSquare, stepsOfSquare = 8, 5

// polynomial returns the matrix P for which the iteration ends with bPX, or with bXP if X has more rows than columns.
// bP is a polynomial in A = XXᵀ of the first X and commutes with it. So the iteration needs only small symmetric
// matrices: from bP = I on, bQ = aI + bA + cA², P ← bQP, A ← b²QAQ. Every product takes half of the work of one that is
// not symmetric.
func polynomial[T kernel.Float](steps int, x gemm.Matrix[T], rows, cols int, space []T) gemm.Matrix[T] {
	n, none := min(rows, cols), gemm.Matrix[T]{}
	square := func(i int) gemm.Matrix[T] { return gemm.Mat(space[i*n*n:(i+1)*n*n], n) }
	as, p, q, spare := square(0), square(1), square(2), square(3)
	if rows <= cols {
		gemm.MulSymmetric(n, cols, 1, x, x.T(), none, as)
	} else {
		gemm.MulSymmetric(n, rows, 1, x.T(), x, none, as)
	}
	for i := range steps {
		gemm.MulSymmetric(n, n, newtonC/newtonB, as, as, as, q)
		diagonal(q, newtonA/newtonB)
		if i < steps-1 {
			gemm.MulSymmetric(n, n, newtonB, q, as, none, spare)
			gemm.MulSymmetric(n, n, newtonB, spare, q, none, as)
		}
		if i == 0 {
			p, q = q, p
		} else {
			gemm.MulSymmetric(n, n, newtonB, q, p, none, spare)
			p, spare = spare, p
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
