package gpt

import (
	"math"
)

// LearningRate is nanoGPT's schedule at iteration it, counted from 0: a linear warm-up, then half a cosine down to MinLR
// at LRDecayIters, then MinLR; without DecayLR it is constant.
func LearningRate(c Config, it int) float64 {
	switch {
	case !c.DecayLR:
		return c.LearningRate
	case it < c.WarmupIters:
		return c.LearningRate * float64(it+1) / float64(c.WarmupIters+1)
	case it > c.LRDecayIters:
		return c.MinLR
	}
	ratio := float64(it-c.WarmupIters) / float64(c.LRDecayIters-c.WarmupIters)
	return c.MinLR + (c.LearningRate-c.MinLR)*(1+math.Cos(math.Pi*ratio))/2
}
