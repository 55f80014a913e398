package train

import (
	"math"

	"github.com/pkg/errors"
)

// CheckSchedule is an error if the learning rate cannot go as t says: the cosine needs a stretch to fall along. A
// warm-up longer than the run is allowed: the run then ends while still warming up.
func (t Training) CheckSchedule() error {
	switch {
	case !t.DecayLR:
		return nil
	case t.LRDecayIters <= t.WarmupIters:
		return errors.Errorf("lr_decay_iters: got %d, want more than warmup_iters %d", t.LRDecayIters, t.WarmupIters)
	case !(t.MinLR <= t.LearningRate):
		return errors.Errorf("min_lr: got %v, want at most learning_rate %v", t.MinLR, t.LearningRate)
	}
	return nil
}

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
