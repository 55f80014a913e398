package quant

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// vectors holds some vectors of whole numbers from −127 to 127 with a scale for each 32, as many as apart, whose blocks
// take turns.
type vectors struct {
	n       []int8
	scales  []float32
	offsets []int32 // of the kernels on amd64: −8 times the sum of 32 numbers
	apart   int
}

// size makes room for as many vectors of k numbers as apart.
func (v *vectors) size(k, apart int) {
	v.apart, k = apart, k*apart
	v.n, v.scales, v.offsets = grown(v.n, k), grown(v.scales, k/32), grown(v.offsets, k/32)
}

// round sets v, which is a single vector, to x: the scale of 32 numbers is the largest of them / 127, and each is
// rounded to the nearest. It defines the numbers that assembly computes.
func (v *vectors) round(x []float32) {
	v.size(len(x), 1)
	for b := range v.scales {
		part, to := x[32*b:][:32], v.n[32*b:][:32]
		top := float32(0)
		for _, x := range part {
			top = max(top, float32(math.Abs(float64(x)))) // NaN stays
		}
		v.scales[b] = top / 127
		inverse := float32(0)
		if top > 0 && !math.IsInf(float64(top), 0) {
			inverse = 127 / top
		}
		if math.IsInf(float64(inverse), 0) { // below the normal numbers
			inverse, v.scales[b] = 0, 0
		}
		for i, x := range part {
			to[i] = int8(math.RoundToEven(float64(x * inverse)))
		}
	}
}

// rounded holds the vectors of a product. In assembly they are in fours, and at most one is alone. The last four may
// hold one or two of earlier products, whose results are not used. In plain Go all vectors are alone.
type rounded struct{ fours, one []vectors }

// fours returns the number of groups of four vectors that assembly multiplies at a time, and whether a vector is alone.
// Two or three that are left take a group of their own.
func fours(m int) (groups int, alone bool) { return (m + 2) / 4, m%4 == 1 }

// round sets r to the m vectors of x.
func (r *rounded) round(p *kernel.Pool, m, k int, x []float32) {
	if !direct(true) {
		r.fours, r.one = r.fours[:0], grown(r.one, m)
		for i := range r.one {
			r.one[i].round(x[i*k:][:k])
		}
		return
	}
	groups, alone := fours(m)
	r.fours, r.one = grown(r.fours, groups), r.one[:0]
	if alone {
		r.one = grown(r.one, 1)
		r.one[0].size(k, 1)
	}
	for g := range r.fours {
		r.fours[g].size(k, 4)
	}
	threads := kernel.Worth[float32](p, roundOperations*m*k)
	kernel.SpreadOn(p, threads, groups+len(r.one), 1, rounding{r, m, k, x})
}

// roundOperations is the cost of rounding a number, in operations of products.
const roundOperations = 16

// rounding holds the arguments of round.
type rounding struct {
	r    *rounded
	m, k int
	x    []float32
}

// Do rounds some groups of vectors, of which the vector alone is the last.
func (t *rounding) Do(from, to int) {
	for g := from; g < to; g++ {
		if g == len(t.r.fours) {
			t.r.one[0].roundInto(0, t.x[4*g*t.k:][:t.k])
			continue
		}
		v := &t.r.fours[g]
		for i := range min(4, t.m-4*g) {
			v.roundInto(i, t.x[(4*g+i)*t.k:][:t.k])
		}
	}
}

func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return append(s[:cap(s)], make([]T, n-cap(s))...)
	}
	return s[:n]
}
