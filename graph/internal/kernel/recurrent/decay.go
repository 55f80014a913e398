package recurrent

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// decay holds the products of the gates of consecutive tokens in a chunk. Its operands have a row for each token and a
// column for each row of the state.
type decay[T kernel.Float] interface {
	// load reads the logarithms of the gates, a row for each of c tokens.
	load(c int, row func(i int) []T)
	// scores computes a_ij = Σ_d r_id·k_jd·α_{j+1,d}⋯α_{i,d} for j < i, and 0 for the other pairs.
	scores(a, r, k []T)
	// scoresBackward adds the gradients of scores to dr and dk. It overwrites da.
	scoresBackward(dr, dk, da, r, k []T)
	// begin computes y_i = x_i∘α_{1…i}, and end y_i = x_i∘α_{i+1…c}.
	begin(y, x []T)
	end(y, x []T)
	// all multiplies the rows of a state by α_{1…c}.
	all(state []T, v int)
}

// even is the decay of heads with one gate, or none.
type even[T kernel.Float] struct {
	c, qk int
	d     []T // α_{j+1}⋯α_i  (c, c)
	first []T // α_{1…i}
	less  T   // α_{1…c} − 1
	gated bool
}

func newEven[T kernel.Float](l Linear[T], c int, a *arena[T]) *even[T] {
	return &even[T]{qk: l.QK, gated: l.Gates > 0, d: a.take(c * c), first: a.take(c)}
}

func (e *even[T]) load(c int, row func(i int) []T) {
	e.c = c
	if !e.gated {
		return
	}
	sum, product := 0.0, 1.0
	for i := range c {
		g := float64(row(i)[0])
		alpha := math.Exp(g)
		sum, product = sum+g, product*alpha
		e.first[i] = T(product)
		own := e.d[i*c:][:c]
		if i > 0 {
			before, by := e.d[(i-1)*c:][:i], T(alpha)
			for j, v := range before {
				own[j] = v * by
			}
		}
		own[i] = 1
		clear(own[i+1:])
	}
	e.less = T(math.Expm1(sum))
}

func (e *even[T]) scores(a, r, k []T) {
	gemm.MulSerial(e.c, e.c, e.qk, 1, gemm.Mat(r, e.qk), gemm.Mat(k, e.qk).T(), 0, gemm.Mat(a, e.c))
	e.lower(a)
}

// lower multiplies a by the decays, and clears it on and above the diagonal.
func (e *even[T]) lower(a []T) {
	for i := range e.c {
		row := a[i*e.c:][:e.c]
		if e.gated {
			kernel.Mul(row[:i], row[:i], e.d[i*e.c:][:i])
		}
		clear(row[i:])
	}
}

func (e *even[T]) scoresBackward(dr, dk, da, r, k []T) {
	e.lower(da)
	a := gemm.Mat(da, e.c)
	gemm.MulSerial(e.c, e.qk, e.c, 1, a, gemm.Mat(k, e.qk), 1, gemm.Mat(dr, e.qk))
	gemm.MulSerial(e.c, e.qk, e.c, 1, a.T(), gemm.Mat(r, e.qk), 1, gemm.Mat(dk, e.qk))
}

func (e *even[T]) begin(y, x []T) { e.scale(y, x, e.first) }

func (e *even[T]) end(y, x []T) { e.scale(y, x, e.d[max(0, e.c-1)*e.c:]) }

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
		state[i] = v + e.less*v
	}
}

// each is the decay of heads with a gate for each row of the state. A product over tokens j + 1 … i is that of two:
// j + 1 … m − 1 and m … i, where m is the first token of the second half of the smallest block, of 2, 4, 8, … tokens,
// that contains i and j. So the scores of a half with the other are a product of two matrices.
type each[T kernel.Float] struct {
	c, qk       int
	alpha       []T   // (c, dρ)
	first, last []T   // α_{1…i}, α_{i+1…c}  (c, dρ)
	halves      [][]T // of blocks of 2, 4, 8, …: α_{m…i} in a second half, α_{j+1…m−1} in a first  (c, dρ)
	less        []T   // α_{1…c} − 1
	sums        []float64
	r, k        []T // scaled (c, dρ)
	dots        []T
}

func newEach[T kernel.Float](l Linear[T], c int, a *arena[T]) *each[T] {
	n := c * l.QK
	e := &each[T]{
		qk: l.QK, alpha: a.take(n), first: a.take(n), last: a.take(n), less: a.take(l.QK), sums: make([]float64, l.QK),
		r: a.take(n), k: a.take(n), dots: a.take(c),
	}
	for half := 1; half < c; half *= 2 {
		e.halves = append(e.halves, a.take(n))
	}
	return e
}

func (e *each[T]) load(c int, row func(i int) []T) {
	e.c = c
	d := e.qk
	clear(e.sums)
	for i := range c {
		g := row(i)
		copy(e.alpha[i*d:][:d], g)
		for j, v := range g {
			e.sums[j] += float64(v)
		}
	}
	for j, sum := range e.sums {
		e.less[j] = T(math.Expm1(sum))
	}
	kernel.Exps(e.alpha[:c*d])
	e.products(e.first, 0, c)
	e.suffixes(e.last, 0, c)
	for l, f := range e.halves {
		half := 1 << l
		for from := 0; from < c; from += 2 * half {
			m := min(c, from+half)
			e.suffixes(f, from, m)
			e.products(f, m, min(c, m+half))
		}
	}
}

// products computes rows from … to − 1 of f, α_{from…i}.
func (e *each[T]) products(f []T, from, to int) {
	d := e.qk
	for i := from; i < to; i++ {
		own, alpha := f[i*d:][:d], e.alpha[i*d:][:d]
		if i == from {
			copy(own, alpha)
		} else {
			kernel.Mul(own, f[(i-1)*d:][:d], alpha)
		}
	}
}

// suffixes computes rows from … to − 1 of f, α_{i+1…to−1}.
func (e *each[T]) suffixes(f []T, from, to int) {
	d := e.qk
	for i := to - 1; i >= from; i-- {
		own := f[i*d:][:d]
		if i == to-1 {
			for j := range own {
				own[j] = 1
			}
		} else {
			kernel.Mul(own, f[(i+1)*d:][:d], e.alpha[(i+1)*d:][:d])
		}
	}
}

func (e *each[T]) scores(a, r, k []T) {
	c, d := e.c, e.qk
	clear(a[:c*c])
	for l, f := range e.halves {
		half := 1 << l
		if half >= c {
			break
		}
		e.scale(f, r, k)
		if half == 1 { // pairs of adjacent tokens
			dots := e.dots[:c/2]
			kernel.DotRows(dots, e.r[d:], e.k, d, 2*d)
			for i, v := range dots {
				a[(2*i+1)*c+2*i] = v
			}
			continue
		}
		for from := 0; from+half < c; from += 2 * half {
			m := from + half
			gemm.MulSerial(min(half, c-m), half, d, 1, gemm.Mat(e.r[m*d:], d), gemm.Mat(e.k[from*d:], d).T(), 0,
				gemm.Mat(a[m*c+from:], c))
		}
	}
}

// scale multiplies r and k by f.
func (e *each[T]) scale(f, r, k []T) {
	n := e.c * e.qk
	kernel.Mul(e.r[:n], r[:n], f[:n])
	kernel.Mul(e.k[:n], k[:n], f[:n])
}

func (e *each[T]) scoresBackward(dr, dk, da, r, k []T) {
	c, d := e.c, e.qk
	for l, f := range e.halves {
		half := 1 << l
		if half >= c {
			break
		}
		e.scale(f, r, k)
		for from := 0; from+half < c; from += 2 * half {
			m := from + half
			rows := min(half, c-m)
			upper, lower := f[m*d:][:rows*d], f[from*d:][:half*d]
			if half == 1 { // e.k is that of this block's first token, e.r of its second
				by := da[m*c+from]
				addScaled(dr[m*d:][:d], e.k[from*d:][:d], upper, by)
				addScaled(dk[from*d:][:d], e.r[m*d:][:d], lower, by)
				continue
			}
			own := gemm.Mat(da[m*c+from:], c)
			// The rows of e.r in the first half, and those of e.k in the second, are free.
			x, y := gemm.Mat(e.k[m*d:], d), gemm.Mat(e.r[from*d:], d)
			gemm.MulSerial(rows, d, half, 1, own, gemm.Mat(e.k[from*d:], d), 0, x)
			gemm.MulSerial(half, d, rows, 1, own.T(), gemm.Mat(e.r[m*d:], d), 0, y)
			kernel.MulAdd(dr[m*d:][:rows*d], x.Data[:rows*d], upper)
			kernel.MulAdd(dk[from*d:][:half*d], y.Data[:half*d], lower)
		}
	}
}

// addScaled adds by·x∘f to y.
func addScaled[T kernel.Float](y, x, f []T, by T) {
	for i, v := range x {
		y[i] += by * v * f[i]
	}
}

func (e *each[T]) begin(y, x []T) { kernel.Mul(y[:e.c*e.qk], x[:e.c*e.qk], e.first[:e.c*e.qk]) }

func (e *each[T]) end(y, x []T) { kernel.Mul(y[:e.c*e.qk], x[:e.c*e.qk], e.last[:e.c*e.qk]) }

// all adds (α_{1…c} − 1)·S to S, whose rounding does not accumulate where α is near 1.
func (e *each[T]) all(state []T, v int) {
	for d, less := range e.less {
		row := state[d*v:][:v]
		for i, v := range row {
			row[i] = v + less*v
		}
	}
}
