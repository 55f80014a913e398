package kernel

import "github.com/pedestrian-ml/pedestrian/internal/elementary"

// BinaryCrossEntropy returns the mean of max(z, 0) − z·y + ln(1 + e^(−|z|)). It sums parts of fixed size in a fixed
// order.
func BinaryCrossEntropy[T Float](p *Pool, z, y []T) (loss float64) {
	var parts [Parts]float64
	p.For(Parts, func(part int) {
		for i := part * len(z) / Parts; i < (part+1)*len(z)/Parts; i++ {
			v := float64(z[i])
			parts[part] += max(v, 0) - float64(v*float64(y[i])) + elementary.Log1p(elementary.Exp(min(v, -v)))
		}
	})
	for _, sum := range parts {
		loss += sum
	}
	return loss / float64(len(z))
}

// BinaryCrossEntropyBackward computes dz = scale·(σ(z) − y)/n.
func BinaryCrossEntropyBackward[T Float](p *Pool, dz, z, y []T, scale T) {
	scale /= T(len(z))
	p.Range(len(z), grain, func(from, to int) {
		for i := from; i < to; i++ {
			s, _ := Logistic(z[i])
			dz[i] = scale * (s - y[i])
		}
	})
}
