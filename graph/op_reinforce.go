package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// Reinforce returns the kernel of −Σ w·A·ln π(action)/Σ w, a scalar. Here π is the softmax of a row of logits (n, v),
// actions are n ids, and the advantage is A = returns − baseline. Returns, baseline and the weights w are (n, 1); an
// empty baseline is 0. The loss is differentiated by the logits alone. Running fails on an action outside 0 … v−1, even
// if its weight is 0, and whether or not ok is true. A product with the largest numbers may overflow in the kernel and
// not in the equation, or the other way round.
func Reinforce(logits, actions, returns, baseline, weights Expr) (loss Expr, ok bool) {
	return reinforce("reinforce", logits, actions, returns, weights, baseline, Expr{},
		kernel.Reinforce[float32], kernel.Reinforce[float64])
}

// rolloutLoss computes a loss of a rollout. It writes the log-sum-exp and the factor of every row for the backward
// pass.
type rolloutLoss[T kernel.Float] func(p *kernel.Pool, logits, lse, factor []T, r kernel.Rollout[T]) float64

// reinforceOp holds what the two passes share: which inputs are present, and the log-sum-exp and the factor of every
// row.
type reinforceOp struct {
	pool          *kernel.Pool
	actions       []int
	baseline, old bool
	lse, factor   *buffer
}

// reinforce returns the operation of a loss whose gradient by the logits is factor·(softmax − onehot). Its inputs are
// the logits, actions, returns and weights, then the baseline and the old log-probabilities if present.
func reinforce(
	name string, logits, actions, returns, weights, baseline, old Expr,
	f32 rolloutLoss[float32], f64 rolloutLoss[float64],
) (Expr, bool) {
	if actions.ids != nil {
		actions.ids.isLookup = true // in the reference too: an ignored action has no probability
	}
	with := append([]Expr{actions, returns, weights}, present(baseline, old)...)
	return logits.kernel(name, func() (*G.Node, error) {
		n, g := logits.node.Shape()[0], logits.g
		if err := actions.ids.check(logits.node.Shape()[1], "actions"); err != nil {
			return nil, err
		}
		for _, e := range with {
			if got := e.node.Shape().TotalSize(); got != n {
				return nil, errors.Errorf("%d numbers for %d rows of logits", got, n)
			}
		}
		wrt := make([]bool, 1+len(with))
		wrt[0] = true
		l := &reinforceOp{g.pool, actions.Ints(), baseline.g != nil, old.g != nil, &buffer{size: n}, &buffer{size: n}}
		return g.node(&op{
			name: name, wrt: wrt, fills: []*buffer{l.lse, l.factor},
			f32: reinforceForward(l, f32), f64: reinforceForward(l, f64),
			diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
				return one(g.node(&op{
					name: name + ".dz", shape: in[0].Shape(), uses: []*buffer{l.lse, l.factor},
					f32: reinforceBackward[float32](l), f64: reinforceBackward[float64](l),
				}, in[0], grad, out))
			},
		}, append(G.Nodes{logits.node}, nodes(with...)...)...)
	}, with...)
}

func reinforceForward[T kernel.Float](l *reinforceOp, loss rolloutLoss[T]) body[T] {
	return func(out []T, in [][]T) {
		r, rest := kernel.Rollout[T]{Actions: l.actions, Returns: in[2], Weights: in[3]}, in[4:]
		if l.baseline {
			r.Baseline, rest = rest[0], rest[1:]
		}
		if l.old {
			r.Old = rest[0]
		}
		out[0] = T(loss(l.pool, in[0], of[T](l.lse), of[T](l.factor), r))
	}
}

func reinforceBackward[T kernel.Float](l *reinforceOp) body[T] {
	return func(dz []T, in [][]T) {
		kernel.ReinforceBackward(l.pool, dz, in[0], of[T](l.lse), of[T](l.factor), l.actions, in[1][0])
	}
}

// PPOClip returns the kernel of −Σ w·min(r·A, clip(r, 1 ± clip)·A)/Σ w, a scalar, with r = π(action)/e^old. The input
// old (n, 1) holds the log-probabilities with which the actions were drawn. Otherwise it is like Reinforce. A row whose
// ratio is clipped has no gradient, even if its weight is NaN. The equation rounds clip(r, 1 ± clip)·A as coarsely as
// r·A, and loses it where r is large; the kernel keeps it.
func PPOClip(logits, actions, returns, baseline, weights, old Expr, clip float64) (loss Expr, ok bool) {
	if !(clip >= 0) {
		return logits.kernel("ppo", func() (*G.Node, error) {
			return nil, errors.Errorf("clip: got %v, want at least 0", clip)
		})
	}
	return reinforce(fmt.Sprintf("ppo(%g)", clip), logits, actions, returns, weights, baseline, old,
		ppoClipLoss[float32](clip), ppoClipLoss[float64](clip))
}

func ppoClipLoss[T kernel.Float](clip float64) rolloutLoss[T] {
	return func(p *kernel.Pool, logits, lse, factor []T, r kernel.Rollout[T]) float64 {
		return kernel.PPOClip(p, logits, lse, factor, r, clip)
	}
}
