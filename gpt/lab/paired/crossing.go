package paired

import "math"

// crossing returns the probability that a Brownian motion B, observed at the shares, has |B(s)| ≥ c·s^Δ at one of them.
// It is the probability of |z| ≥ c·s^(Δ − 1/2), where z = B(s)/√s. Its recursion keeps the masses of |B| where it has
// not crossed.
func (p Plan) crossing(shares []float64, c float64) (crossed float64) {
	at, masses, before := []float64{0}, []float64{1}, 0.0
	for look, s := range shares {
		step := math.Sqrt(s - before)
		bound := c * math.Pow(s, float64(p.Boundary))
		for i, x := range at {
			crossed += masses[i] * (tail((bound-x)/step) + tail((bound+x)/step))
		}
		if look == len(shares)-1 {
			break
		}
		next, weights := nodes(min(bound, 9*math.Sqrt(s)), min(step, math.Sqrt(shares[look+1]-s)))
		for j, y := range next {
			density := 0.0
			for i, x := range at {
				density += masses[i] * (normal((y-x)/step) + normal((y+x)/step))
			}
			weights[j] *= density / step
		}
		at, masses, before = next, weights, s
	}
	return crossed
}

// normal returns the density of the standard normal distribution.
func normal(z float64) float64 {
	return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
}

// nodes returns the places and weights of an integral from 0 to end of an even function: the positive half of the
// rule that substitutes x = end·tanh(π/2·sinh t). Its nodes are nearer than 0.6 of the scale on which the function
// varies.
func nodes(end, scale float64) (at, weights []float64) {
	h := min(0.16, 0.6*scale/(end*math.Pi/2))
	for t := h / 2; t < 3.2; t += h {
		u := math.Pi / 2 * math.Sinh(t)
		at = append(at, end*math.Tanh(u))
		weights = append(weights, end*h*math.Pi/2*math.Cosh(t)/(math.Cosh(u)*math.Cosh(u)))
	}
	return at, weights
}
