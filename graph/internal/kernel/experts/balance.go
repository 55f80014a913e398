package experts

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// Balance returns E·Σ f_e·P_e over the n tokens of the logits z and the gates y: f_e is the share of tokens whose gate
// of expert e is not 0, and P_e the mean of its probabilities, which are divided by their sum.
func Balance[T kernel.Float](r Router, z, y []T) (loss T) {
	n, f := r.Experts, shares(r, y)
	p := make([]T, n)
	for i := 0; i < len(z); i += n {
		total := spread(r, p, z[i:i+n])
		for e, v := range p {
			loss += f[e] * v / total
		}
	}
	return loss * T(n) / T(len(z)/n)
}

// BalanceBackward computes the gradient dz of c·Balance. The shares f are constant.
func BalanceBackward[T kernel.Float](r Router, dz []T, c T, z, y []T) {
	n, f := r.Experts, shares(r, y)
	p := make([]T, n)
	c *= T(n) / T(len(z)/n)
	for i := 0; i < len(z); i += n {
		z, dz := z[i:i+n], dz[i:i+n]
		total := spread(r, p, z)
		var mean T // Σ f∘p
		for e, v := range p {
			mean += f[e] * v / total
		}
		for e, v := range p {
			dz[e] = c * (f[e] - mean) * v / total
			if r.Sigmoid {
				_, rest := kernel.Logistic(z[e])
				dz[e] *= rest
			}
		}
	}
}

// spread writes the probabilities of a token to p, and returns their sum, never 0.
func spread[T kernel.Float](r Router, p, z []T) (total T) {
	score(r, p, z)
	for _, v := range p {
		total += v
	}
	return total + Least
}

// Load adds the number of tokens that chose each expert to count, one for each: those whose gate y of it is not 0.
func Load[T kernel.Float](count, y []T) {
	for n := len(count); len(y) >= n; y = y[n:] {
		for e, v := range y[:n] {
			if v != 0 {
				count[e]++
			}
		}
	}
}

// shares returns the share of tokens that chose each expert.
func shares[T kernel.Float](r Router, y []T) []T {
	f := make([]T, r.Experts)
	Load(f, y)
	for e := range f {
		f[e] /= T(len(y) / r.Experts)
	}
	return f
}
