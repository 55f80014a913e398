package recurrent

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

// decay holds the products of the gates of consecutive tokens in a chunk. Its operands have a row for each token and a
// column for each row of the state.
type decay[T kernel.Float] interface {
	// load reads the logarithms of the gates, a row for each of c tokens.
	load(c int, row func(i int) []T)
	// scores computes a_ij = Σ_d r_id·k_jd·α_{j+1,d}⋯α_{i,d} for j < i, and 0 for the other pairs.
	scores(a, r, k []T)
	// scoresBackward adds the gradients of scores to dr and dk. It overwrites da, whose entries above the diagonal do
	// not matter.
	scoresBackward(dr, dk, da, r, k []T)
	// begin computes y_i = x_i∘α_{1…i}, and end y_i = x_i∘α_{i+1…c}.
	begin(y, x []T)
	end(y, x []T)
	// all multiplies the rows of a state by α_{1…c}.
	all(state []T, v int)
}

// mild is the least product of gates by which another is divided: α_{j+1…i} = α_{1…i}/α_{1…j}. Neither it nor its
// inverse takes a query or key out of the numbers of T. The quotient loses no digits, since all factors are positive.
// A token's form depends on the gates up to its own alone, so that its results have the same bits whatever follows.
const mild = 0x1p-80

// even is the decay of heads with one gate, or none.
type even[T kernel.Float] struct {
	c, qk       int
	gated       bool
	n           int // the number of first tokens for which α_{1…i} is mild
	first, last []T // α_{1…i}, α_{i+1…c}
	inverse     []T // 1/α_{1…i} of the first n tokens
	d           []T // α_{j+1}⋯α_i in the rows of the others  (c, c)
	less        T   // α_{1…c} − 1
	products    []float64
}

func newEven[T kernel.Float](l Linear[T], c int, a *arena[T]) *even[T] {
	return &even[T]{
		qk: l.QK, gated: l.Gates > 0, d: a.take(c * c), first: a.take(c), last: a.take(c), inverse: a.take(c),
		products: make([]float64, c),
	}
}

func (e *even[T]) load(c int, row func(i int) []T) {
	e.c, e.n = c, 0
	if !e.gated {
		return
	}
	sum, product, p := 0.0, 1.0, e.products[:c]
	for i := range p {
		g := float64(row(i)[0])
		sum, product = sum+g, product*elementary.Exp(g)
		e.first[i], p[i] = T(product), product
		if product >= mild && e.n == i {
			e.inverse[i], e.n = T(1/product), i+1
		}
	}
	e.less = T(elementary.Expm1(sum))
	for i := e.n; i < c; i++ {
		e.multiply(i, T(elementary.Exp(float64(row(i)[0]))))
	}
	if e.n < c {
		copy(e.last, e.d[(c-1)*c:][:c])
		return
	}
	for i, v := range p {
		e.last[i] = T(product / v)
	}
}

// multiply computes row i of d, given α_i.
func (e *even[T]) multiply(i int, alpha T) {
	own := e.d[i*e.c:][:i+1]
	own[i] = 1
	for j := range own[:i] {
		if i > e.n {
			own[j] = e.d[(i-1)*e.c+j] * alpha
		} else {
			own[j] = T(e.products[i-1]/e.products[j]) * alpha
		}
	}
}

func (e *even[T]) scores(a, r, k []T) {
	lowerPairs(e.c, e.qk, 1, gemm.Mat(r, e.qk), gemm.Mat(k, e.qk), gemm.Mat(a, e.c))
	e.lower(a)
}

// lower multiplies a by the decays, and clears it on and above the diagonal.
func (e *even[T]) lower(a []T) {
	if e.gated {
		kernel.ScaleRows(a, e.first[:e.n], e.n, e.c)
		kernel.ScaleCols(a, e.inverse[:e.n], e.n, e.c)
		for i := e.n; i < e.c; i++ {
			row := a[i*e.c:][:i]
			kernel.Mul(row, row, e.d[i*e.c:][:i])
		}
	}
	clearAbove(e.c, a)
}

func (e *even[T]) scoresBackward(dr, dk, da, r, k []T) {
	e.lower(da)
	a := gemm.Mat(da, e.c)
	lowerMul(e.c, e.qk, a, gemm.Mat(k, e.qk), 1, gemm.Mat(dr, e.qk))
	upperMul(e.c, e.qk, a, gemm.Mat(r, e.qk), 1, gemm.Mat(dk, e.qk))
}

func (e *even[T]) begin(y, x []T) { e.scale(y, x, e.first) }

func (e *even[T]) end(y, x []T) { e.scale(y, x, e.last) }

func (e *even[T]) scale(y, x, factors []T) {
	n := e.c * e.qk
	if &y[0] != &x[0] {
		copy(y[:n], x)
	}
	if e.gated {
		kernel.ScaleRows(y, factors[:e.c], e.qk, e.qk)
	}
}

// all adds (α_{1…c} − 1)·S to S, whose rounding does not accumulate where α is near 1.
func (e *even[T]) all(state []T, _ int) {
	if !e.gated {
		return
	}
	for i, v := range state {
		state[i] = v + T(e.less*v)
	}
}
