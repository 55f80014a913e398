package recurrent

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

// LRU computes the gates a = σ(Λ)^(Power·σ(z)) of a real-gated linear recurrent unit, in rows of Λ's width, as
// c = a − 1.
type LRU struct{ Power float64 }

// rate returns Power·ln σ(Λ).
func (l LRU) rate(lambda float64) float64 {
	return -l.Power * (max(0, -lambda) + elementary.Log1p(elementary.Exp(-math.Abs(lambda))))
}

// Decay computes c = e^(σ(z)∘rate) − 1. rates, of Λ's width, are overwritten.
func Decay[T kernel.Float](p *kernel.Pool, l LRU, c, z, lambda []T, rates []float64) {
	d := len(lambda)
	for j, v := range lambda {
		rates[j] = l.rate(float64(v))
	}
	p.Rows(len(c)/d, d, func(from, to int) {
		for i := from; i < to; i++ {
			for j, x := range z[i*d:][:d] {
				s, _ := kernel.Logistic(float64(x))
				c[i*d+j] = T(elementary.Expm1(s * rates[j]))
			}
		}
	})
}

// DecayBackward adds the gradients of z and Λ to dz and dlambda, from dc and c = a − 1. The derivative of the rate by Λ
// is Power·σ(−Λ).
func DecayBackward[T kernel.Float](p *kernel.Pool, l LRU, dz, dlambda, dc, c, z, lambda []T) {
	d := len(lambda)
	p.Range(d, 16, func(from, to int) { // columns, each with its sum over the rows
		for j := from; j < to; j++ {
			rate, sum := l.rate(float64(lambda[j])), 0.
			for i := j; i < len(c); i += d {
				s, rest := kernel.Logistic(float64(z[i]))
				dlog := float64(dc[i]) * (1 + float64(c[i])) // at ln a
				dz[i] += T(dlog * rate * s * rest)
				sum += float64(dlog * s)
			}
			_, slope := kernel.Logistic(float64(lambda[j]))
			dlambda[j] += T(sum * l.Power * slope)
		}
	})
}

// Input computes y = √(1 − a²)∘v from c = a − 1: 1 − a² = −c(2 + c).
func Input[T kernel.Float](p *kernel.Pool, y, v, c []T) {
	p.Range(len(y), 8192, func(from, to int) {
		for i := from; i < to; i++ {
			x := float64(c[i])
			y[i] = T(math.Sqrt(-x*(2+x)) * float64(v[i]))
		}
	})
}

// InputBackward adds the gradients of v and c to dv and dc. At a = 1 the gradient of c is infinite; it is 0 here,
// because its product with a derivative of Decay has the limit 0.
func InputBackward[T kernel.Float](p *kernel.Pool, dv, dc, dy, v, c []T) {
	p.Range(len(dy), 8192, func(from, to int) {
		for i := from; i < to; i++ {
			x, d := float64(c[i]), float64(dy[i])
			root := math.Sqrt(-x * (2 + x))
			dv[i] += T(d * root)
			if root > 0 {
				dc[i] -= T(d * float64(v[i]) * (1 + x) / root)
			}
		}
	})
}

// Share computes c = −σ(z).
func Share[T kernel.Float](p *kernel.Pool, c, z []T) {
	p.Range(len(c), 8192, func(from, to int) {
		c := c[from:to]
		kernel.Sigmoid(p, c, z[from:to])
		for i, v := range c {
			c[i] = -v
		}
	})
}

// ShareBackward adds dc∘c(1 + c) to dz.
func ShareBackward[T kernel.Float](p *kernel.Pool, dz, dc, c []T) {
	p.Range(len(c), 8192, func(from, to int) {
		dz, dc := dz[from:to], dc[from:to]
		for i, v := range c[from:to] {
			dz[i] += T(dc[i] * v * (1 + v))
		}
	})
}
