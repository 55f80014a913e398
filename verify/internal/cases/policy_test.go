package cases

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// The Case detects a clip on the wrong side, where A has pushed r towards 1, and a missing clip.
func TestI56WrongClips(t *testing.T) {
	back := func(z matrix, r hand.Rollout, eps float64) matrix {
		dz, _ := hand.PPO[float64]{Rollout: r, Clip: eps}.Backward(z, hand.Zeros[float64](1, 1).Shift(1))
		return dz
	}
	r, _, _ := rollout(fixture.Default())
	opposite := r
	opposite.Advantages = r.Advantages.Scale(-1)
	for name, wrong := range map[string]func(z matrix) matrix{
		"on the wrong side": func(z matrix) matrix { return back(z, opposite, clip).Scale(-1) },
		"left out":          func(z matrix) matrix { return back(z, r, math.Inf(1)) },
	} {
		list := All()
		c := list[slices.IndexFunc(list, func(c verify.Case) bool { return c.ID == "I56" })]
		c.Backward = func(p hand.Parameters[float64], delta matrix) hand.Gradients[float64] {
			return hand.Gradients[float64]{{Name: input, Value: wrong(p[input]).Mul(delta)}}
		}
		report, err := c.Run()
		if err != nil {
			t.Fatal(err)
		}
		if report.OK() {
			t.Errorf("a clip %s: got no failure", name)
		}
	}
}
