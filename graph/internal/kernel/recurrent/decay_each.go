package recurrent

import (
	"sort"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

// each is the decay of heads with a gate for each row of the state. The scores of tokens for which all α_{1…i} are mild
// are a product of two matrices. For the others, a product over tokens j + 1 … i is a product of two: j + 1 … m − 1 and
// m … i, where m is the first token of the second half of the smallest block, of 2, 4, 8, … tokens, that contains i and
// j. So the scores of a half with the other are a product of two matrices.
type each[T kernel.Float] struct {
	c, qk       int
	n           int // the number of first tokens for which all α_{1…i} are mild
	row         func(i int) []T
	alpha       []T // (c, dρ)
	first, last []T // α_{1…i}, α_{i+1…c}  (c, dρ)
	knowsLast   bool
	inverse     []T   // 1/α_{1…i} of the first n tokens
	halves      [][]T // of blocks of 2, 4, 8, …: α_{m…i} in a second half, α_{j+1…m−1} in a first  (c, dρ)
	sums        []float64
	r, k, t     []T // scaled, and a product  (c, dρ)
	dots        []T
}

func newEach[T kernel.Float](l Linear[T], c int, a *arena[T]) *each[T] {
	n := c * l.QK
	e := &each[T]{
		qk: l.QK, alpha: a.take(n), first: a.take(n), last: a.take(n), inverse: a.take(n),
		sums: make([]float64, l.QK), r: a.take(n), k: a.take(n), t: a.take(n), dots: a.take(c),
	}
	for half := 1; half < c; half *= 2 {
		e.halves = append(e.halves, a.take(n))
	}
	return e
}

func (e *each[T]) load(c int, row func(i int) []T) {
	e.c, e.row, e.knowsLast = c, row, false
	for i := range c {
		copy(e.alpha[i*e.qk:][:e.qk], row(i))
	}
	kernel.Exps(e.alpha[:c*e.qk])
	e.products(e.first, 0, c)
	e.n = sort.Search(c, func(i int) bool { return !e.isMild(i) })
	kernel.Inverse(e.inverse[:e.n*e.qk], e.first[:e.n*e.qk])
	if e.n == c {
		return
	}
	for l, f := range e.halves {
		half := 1 << l
		for from := 0; from < c; from += 2 * half {
			m := min(c, from+half)
			e.suffixes(f, from, m)
			e.products(f, m, min(c, m+half))
		}
	}
}

// isMild reports whether all α_{1…i} are.
func (e *each[T]) isMild(i int) bool {
	for _, v := range e.first[i*e.qk:][:e.qk] {
		if !(v >= mild) {
			return false
		}
	}
	return true
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
	if e.n < e.c {
		e.blocks(a, r, k)
	}
	e.scale(e.n, e.first, e.inverse, r, k)
	lowerPairs(e.n, e.qk, 1, gemm.Mat(e.r, e.qk), gemm.Mat(e.k, e.qk), gemm.Mat(a, e.c))
	clearAbove(e.c, a)
}

// blocks computes the scores by the halves of blocks.
func (e *each[T]) blocks(a, r, k []T) {
	c, d := e.c, e.qk
	for l, f := range e.halves {
		half := 1 << l
		if half >= c {
			break
		}
		e.scale(c, f, f, r, k)
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

// scale multiplies the first rows of r and k by factors.
func (e *each[T]) scale(rows int, up, down, r, k []T) {
	n := rows * e.qk
	kernel.Mul(e.r[:n], r[:n], up[:n])
	kernel.Mul(e.k[:n], k[:n], down[:n])
}

func (e *each[T]) scoresBackward(dr, dk, da, r, k []T) {
	c, d := e.c, e.qk
	clearAbove(c, da)
	if n := c * d; e.n == c {
		e.scale(c, e.first, e.inverse, r, k)
		a, t := gemm.Mat(da, c), gemm.Mat(e.t, d)
		lowerMul(c, d, a, gemm.Mat(e.k, d), 0, t)
		kernel.MulAdd(dr[:n], e.t[:n], e.first[:n])
		upperMul(c, d, a, gemm.Mat(e.r, d), 0, t)
		kernel.MulAdd(dk[:n], e.t[:n], e.inverse[:n])
		return
	}
	for l, f := range e.halves {
		half := 1 << l
		if half >= c {
			break
		}
		e.scale(c, f, f, r, k)
		for from := 0; from+half < c; from += 2 * half {
			m := from + half
			rows := min(half, c-m)
			upper, lower := f[m*d:][:rows*d], f[from*d:][:half*d]
			if half == 1 { // e.k has this block's first token, e.r its second
				by := da[m*c+from]
				addScaled(dr[m*d:][:d], e.k[from*d:][:d], upper, by)
				addScaled(dk[from*d:][:d], e.r[m*d:][:d], lower, by)
				continue
			}
			own := gemm.Mat(da[m*c+from:], c)
			// The rows of e.r in the first half, and of e.k in the second, are free.
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
		y[i] += T(by * v * f[i])
	}
}

func (e *each[T]) begin(y, x []T) { kernel.Mul(y[:e.c*e.qk], x[:e.c*e.qk], e.first[:e.c*e.qk]) }

func (e *each[T]) end(y, x []T) {
	if !e.knowsLast {
		e.suffixes(e.last, 0, e.c)
		e.knowsLast = true
	}
	kernel.Mul(y[:e.c*e.qk], x[:e.c*e.qk], e.last[:e.c*e.qk])
}

// all adds (α_{1…c} − 1)·S to S, whose rounding does not accumulate where α is near 1.
func (e *each[T]) all(state []T, v int) {
	clear(e.sums)
	for i := range e.c {
		for j, g := range e.row(i) {
			e.sums[j] += float64(g)
		}
	}
	for d, sum := range e.sums {
		less := T(elementary.Expm1(sum))
		row := state[d*v:][:v]
		for i, x := range row {
			row[i] = x + T(less*x)
		}
	}
}
