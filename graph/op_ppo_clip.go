package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// PPOClip is the kernel of −Σ w·min(r·A, clip(r, 1 ± clip)·A)/Σ w, a scalar, with r = π(action)/e^old and old (n, 1) the
// logarithms of the probabilities that the actions were drawn with; the rest is as in Reinforce.
func PPOClip(logits, actions, returns, baseline, weights, old Expr, clip float64) (loss Expr, ok bool) {
	return reinforce(fmt.Sprintf("ppo(%g)", clip), logits, actions, returns, weights, baseline, old, ppoClipLoss[float32](clip), ppoClipLoss[float64](clip))
}

func ppoClipLoss[T kernel.Float](clip float64) rolloutLoss[T] {
	return func(p *kernel.Pool, r rollout[T]) float64 {
		return kernel.PPOClip(p, r.logits, r.lse, r.factor, r.Rollout, r.old, clip)
	}
}
