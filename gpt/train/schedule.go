package train

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Check returns an error if fields contradict each other. The cosine of the learning rate needs at least one step. A
// warm-up longer than the run is allowed: the run then ends during the warm-up. Only kernels round.
func (t Training) Check() error {
	switch {
	case !t.Kernels && t.precision() != graph.Precisions()[0]:
		return errors.Errorf("precision: got %s with kernels false, want %s: the reference does not round",
			t.Precision, graph.Precisions()[0])
	case !t.DecayLR:
		return nil
	case t.LRDecayIters <= t.WarmupIters:
		return errors.Errorf("lr_decay_iters: got %d, want more than warmup_iters %d", t.LRDecayIters, t.WarmupIters)
	case !(t.MinLR <= t.LearningRate):
		return errors.Errorf("min_lr: got %v, want at most learning_rate %v", t.MinLR, t.LearningRate)
	}
	return nil
}

// RateAt returns the learning rate of iteration it, counted from 0, by nanoGPT's schedule: a linear warm-up, then half
// a cosine down to MinLR at LRDecayIters, then MinLR; without DecayLR it is constant.
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
