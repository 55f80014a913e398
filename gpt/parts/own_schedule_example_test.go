package parts_test

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// reciprocal is the schedule of Zhai et al. 2022: after the warm-up, the inverse square root of the iteration, and at
// the end a line down to 0.
func reciprocal(t train.Training, it int) float64 {
	warm, at := float64(t.WarmupIters+1), float64(it+1)
	left := float64(t.LRDecayIters-it) / float64(max(1, t.CooldownIters))
	return t.LearningRate * min(at/warm, math.Sqrt(warm/at)) * max(0, min(1, left))
}

// A schedule is a part like any other: checkpoints contain its name.
func ExampleRegistry_ownSchedule() {
	c := small()
	c.Schedule, c.CooldownIters = "reciprocal", 10
	c.Parts.Schedules = []train.Schedule{{Name: "reciprocal", Rate: reciprocal, Check: func(t train.Training) error {
		if t.CooldownIters > t.LRDecayIters {
			return errors.Errorf(
				"cooldown_iters: got %d, want at most lr_decay_iters %d", t.CooldownIters, t.LRDecayIters,
			)
		}
		return nil
	}}}
	trains(c)
	// Output: the loss falls, and it writes
}
