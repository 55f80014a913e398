// Package experts computes mixtures of experts: the gates of a router, and gated MLPs of which each processes only the
// tokens that chose it.
package experts

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// Router turns the logits of a router into gates.
type Router struct {
	Experts, Active int  // E, and the number k of gates of a token that are not 0
	Sigmoid         bool // the probabilities are σ(z), otherwise softmax(z)
	Norm            bool // the gates of a token are divided by their sum
}

// Least is added to the sum of a token's gates before they are divided by it.
const Least = 1e-20

// Gates computes the gates y of the logits z, one row of E numbers for each token: the k probabilities that are the
// largest after the bias is added, which may be nil, and 0 for the rest. Of equal ones, those in earlier columns come
// first; NaN counts as +∞.
func Gates[T kernel.Float](p *kernel.Pool, r Router, y, z, bias []T) {
	p.Rows(len(z)/r.Experts, r.Experts, func(from, to int) {
		probabilities := make([]T, r.Experts)
		scores := probabilities
		if bias != nil {
			scores = make([]T, r.Experts)
		}
		for i := from; i < to; i++ {
			z, y := z[i*r.Experts:][:r.Experts], y[i*r.Experts:][:r.Experts]
			score(r, probabilities, z)
			for e, b := range bias {
				scores[e] = probabilities[e] + b
			}
			choose(r, y, probabilities, scores)
		}
	})
}

// score writes the probabilities of a token to p.
func score[T kernel.Float](r Router, p, z []T) {
	if r.Sigmoid {
		for e, v := range z {
			p[e], _ = kernel.Logistic(v)
		}
		return
	}
	top := slices.Max(z)
	for e, v := range z {
		p[e] = v - top
	}
	kernel.Exps(p)
	var sum T
	for _, v := range p {
		sum += v
	}
	for e := range p {
		p[e] /= sum
	}
}

// choose writes the gates of a token to y: its probabilities p of the experts with the largest scores.
func choose[T kernel.Float](r Router, y, p, scores []T) {
	clear(y)
	var sum T
	last, after := T(math.Inf(1)), -1 // the score chosen last and its column, as in an order of all columns
	for range r.Active {
		best := -1
		for e, v := range scores {
			if v = key(v); v < last || v == last && e > after {
				if best < 0 || v > key(scores[best]) {
					best = e
				}
			}
		}
		last, after = key(scores[best]), best
		y[best] = p[best]
		sum += p[best]
	}
	for e, v := range y {
		if r.Norm && v != 0 {
			y[e] = v / (sum + Least)
		}
	}
}

// key returns x, or +∞ for NaN.
func key[T kernel.Float](x T) T {
	if x != x {
		return T(math.Inf(1))
	}
	return x
}

// GatesBackward computes the gradient dz of the logits z, given the gradient dy of the gates y. A gate of 0 has no
// gradient.
func GatesBackward[T kernel.Float](p *kernel.Pool, r Router, dz, dy, y, z []T) {
	n := r.Experts
	p.Rows(len(z)/n, n, func(from, to int) {
		probabilities := make([]T, n)
		for i := from; i < to; i++ {
			z, y, dz, dy := z[i*n:][:n], y[i*n:][:n], dz[i*n:][:n], dy[i*n:][:n]
			score(r, probabilities, z)
			var sum, dot T // of the chosen probabilities, and of dy∘y
			for e, v := range y {
				if v != 0 {
					sum += probabilities[e]
					dot += T(dy[e] * v)
				}
			}
			var mean T // Σ p∘dp
			for e, v := range y {
				if dz[e] = 0; v != 0 {
					if dz[e] = dy[e]; r.Norm {
						dz[e] = (dy[e] - dot) / (sum + Least)
					}
					mean += T(probabilities[e] * dz[e])
				}
			}
			for e, v := range z {
				if r.Sigmoid {
					s, rest := kernel.Logistic(v)
					dz[e] *= s * rest
				} else {
					dz[e] = probabilities[e] * (dz[e] - mean)
				}
			}
		}
	})
}
