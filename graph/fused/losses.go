package fused

import (
	"fmt"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
)

// CrossEntropy returns the kernel of the sum of
//
//	ln Σ e^z − z[target] + s·(z[target] − mean(z)) + λ·ln² Σ e^z
//
// a scalar, with smoothed labels, 0 ≤ s < 1, and a z-loss λ = zLoss of at least 0. The sum runs over the rows of logits
// (n, v) whose target is not the ignored id. If mean is set, it is divided by the number of these rows. An ignored row
// counts for nothing even if it is not finite. In the equation 0 times such a row is NaN. The mean of a row is finite
// even where its sum in the equation overflows.
func CrossEntropy(logits, targets graph.Expr, mean bool, smoothing, zLoss float64) (loss graph.Expr, ok bool) {
	return logits.Kernel("cross entropy", func(g *ops.Builder) (*ops.Node, error) {
		if !(0 <= smoothing && smoothing < 1 && 0 <= zLoss && zLoss <= math.MaxFloat64) {
			return nil, errors.Errorf("got smoothing %v and z-loss %v, "+
				"want 0 ≤ smoothing < 1 and a z-loss of at least 0", smoothing, zLoss)
		}
		if rows, n := logits.Operand().Shape()[0], count(targets); rows != n {
			return nil, errors.Errorf("%d rows of logits for %d targets", rows, n)
		}
		if err := targets.CheckIDs(logits.Operand().Shape()[1], "classes"); err != nil {
			return nil, err
		}
		_, _, ignored := targets.Integers()
		return g.CrossEntropy(logits.Operand(), targets.IDs(), ignored, mean, smoothing, zLoss)
	}, targets)
}

// LogProbs returns the kernel of ln softmax(z)[id], the logarithm of the probability of the id of each row of logits:
// (n, v) → (n, 1). It is 0 for an ignored id, even if the row is not finite. It is differentiated by the logits.
func LogProbs(logits, ids graph.Expr) (y graph.Expr, ok bool) {
	return logits.Kernel("log probabilities", func(g *ops.Builder) (*ops.Node, error) {
		if err := ids.CheckIDs(logits.Operand().Shape()[1], "classes"); err != nil {
			return nil, err
		}
		if rows, n := logits.Operand().Shape()[0], count(ids); rows != n {
			return nil, errors.Errorf("%d rows of logits for %d ids", rows, n)
		}
		_, _, ignored := ids.Integers()
		return g.LogProbs(logits.Operand(), ids.IDs(), ignored)
	}, ids)
}

// SquaredError returns the kernel of Σ w(x − y)²/Σ w, a scalar, for x, y and w with the same number of entries. The
// weights w are optional: empty weights are 1. It is differentiated by x and y. The gradient may be finite where a
// product of the equation overflows.
func SquaredError(x, y, weights graph.Expr) (loss graph.Expr, ok bool) {
	with := append([]graph.Expr{y}, present(weights)...)
	return x.Kernel("squared error", func(g *ops.Builder) (*ops.Node, error) {
		n := x.Operand().Shape().TotalSize()
		for _, e := range with {
			if got := e.Operand().Shape().TotalSize(); got != n {
				return nil, errors.Errorf("got %d numbers, want %d", got, n)
			}
		}
		return g.SquaredError(x.Operand(), y.Operand(), weights.Operand())
	}, with...)
}

// BinaryCrossEntropy returns the kernel of the mean of max(z, 0) − z∘y + ln(1 + e^(−|z|)) over all entries, a scalar,
// with logits z and target probabilities y of one shape. It is differentiated by both.
func BinaryCrossEntropy(z, y graph.Expr) (loss graph.Expr, ok bool) {
	return z.Kernel("binary cross entropy", func(g *ops.Builder) (*ops.Node, error) {
		if shape, other := z.Operand().Shape(), y.Operand().Shape(); !shape.Eq(other) {
			return nil, errors.Errorf("%v logits for %v targets", shape, other)
		}
		return g.BinaryCrossEntropy(z.Operand(), y.Operand())
	}, y)
}

// Reinforce returns the kernel of −Σ w·A·ln π(action)/Σ w, a scalar. Here π is the softmax of a row of logits (n, v),
// actions are n ids, and the advantage is A = returns − baseline. Returns, baseline and the weights w are (n, 1); an
// empty baseline is 0. The loss is differentiated by the logits alone. Running fails on an action outside 0 … v−1, even
// if its weight is 0, and whether or not ok is true. A product with the largest numbers may overflow in the kernel and
// not in the equation, or the other way round.
func Reinforce(logits, actions, returns, baseline, weights graph.Expr) (loss graph.Expr, ok bool) {
	actions.RequireIDs() // in the reference too: an ignored action has no probability
	with := append([]graph.Expr{actions, returns, weights}, present(baseline)...)
	return logits.Kernel("reinforce", func(g *ops.Builder) (*ops.Node, error) {
		r, err := rollout(logits, actions, returns, weights, baseline, with)
		if err != nil {
			return nil, err
		}
		return g.Reinforce(r)
	}, with...)
}

// PPOClip returns the kernel of −Σ w·min(r·A, clip(r, 1 ± clip)·A)/Σ w, a scalar, with r = π(action)/e^old. The input
// old (n, 1) holds the log-probabilities with which the actions were drawn. Otherwise it is like Reinforce. A row whose
// ratio is clipped has no gradient, even if its weight is NaN. The equation rounds clip(r, 1 ± clip)·A as coarsely as
// r·A, and loses it where r is large; the kernel keeps it.
func PPOClip(logits, actions, returns, baseline, weights, old graph.Expr, clip float64) (loss graph.Expr, ok bool) {
	if !(clip >= 0) {
		return logits.Kernel("ppo", func(g *ops.Builder) (*ops.Node, error) {
			return nil, errors.Errorf("clip: got %v, want at least 0", clip)
		})
	}
	actions.RequireIDs()
	with := append([]graph.Expr{actions, returns, weights}, present(baseline, old)...)
	return logits.Kernel(fmt.Sprintf("ppo(%g)", clip), func(g *ops.Builder) (*ops.Node, error) {
		r, err := rollout(logits, actions, returns, weights, baseline, with)
		if err != nil {
			return nil, err
		}
		return g.PPOClip(r, old.Operand(), clip)
	}, with...)
}

// rollout returns the operands of a loss of a rollout. All those in with have one number per row of logits.
func rollout(logits, actions, returns, weights, baseline graph.Expr, with []graph.Expr) (r ops.Rollout, err error) {
	shape := logits.Operand().Shape()
	if err := actions.CheckIDs(shape[1], "actions"); err != nil {
		return r, err
	}
	for _, e := range with {
		if got := e.Operand().Shape().TotalSize(); got != shape[0] {
			return r, errors.Errorf("%d numbers for %d rows of logits", got, shape[0])
		}
	}
	return ops.Rollout{
		Logits: logits.Operand(), Actions: actions.IDs(),
		Returns: returns.Operand(), Weights: weights.Operand(), Baseline: baseline.Operand(),
	}, nil
}
