package train

import "math"

// RateAt is the learning rate of iteration it, counted from 0, by nanoGPT's schedule: a linear warm-up, then half a
// cosine down to MinLR at LRDecayIters, then MinLR; without DecayLR it is constant.
func (t Training) RateAt(it int) float64 {
	switch {
	case !t.DecayLR:
		return t.LearningRate
	case it < t.WarmupIters:
		return t.LearningRate * float64(it+1) / float64(t.WarmupIters+1)
	case it > t.LRDecayIters:
		return t.MinLR
	}
	ratio := float64(it-t.WarmupIters) / float64(t.LRDecayIters-t.WarmupIters)
	return t.MinLR + (t.LearningRate-t.MinLR)*(1+math.Cos(math.Pi*ratio))/2
}
