package ops

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// Rollout holds the operands of a loss of a rollout: one row of logits, action, return and weight per token.
type Rollout struct {
	Logits           *G.Node
	Actions          IDs
	Returns, Weights *G.Node
	Baseline         *G.Node // nil is 0
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

// Reinforce returns −Σ w·A·ln π(action)/Σ w with the advantage A = returns − baseline.
func (b *Builder) Reinforce(r Rollout) (*G.Node, error) {
	return b.reinforce("reinforce", r, nil, kernel.Reinforce[float32], kernel.Reinforce[float64])
}

// PPOClip returns −Σ w·min(r·A, clip(r, 1 ± clip)·A)/Σ w with r = π(action)/e^old.
func (b *Builder) PPOClip(r Rollout, old *G.Node, clip float64) (*G.Node, error) {
	return b.reinforce(fmt.Sprintf("ppo(%g)", clip), r, old, ppoClipLoss[float32](clip), ppoClipLoss[float64](clip))
}

func ppoClipLoss[T kernel.Float](clip float64) rolloutLoss[T] {
	return func(p *kernel.Pool, logits, lse, factor []T, r kernel.Rollout[T]) float64 {
		return kernel.PPOClip(p, logits, lse, factor, r, clip)
	}
}

// reinforce returns the operation of a loss whose gradient by the logits is factor·(softmax − onehot). Its inputs are
// the logits, actions, returns and weights, then the baseline and the old log-probabilities if present.
func (b *Builder) reinforce(
	name string, r Rollout, old *G.Node, f32 rolloutLoss[float32], f64 rolloutLoss[float64],
) (*G.Node, error) {
	n := r.Logits.Shape()[0]
	operands := present(r.Logits, r.Actions.Node, r.Returns, r.Weights, r.Baseline, old)
	wrt := make([]bool, len(operands))
	wrt[0] = true
	l := &reinforceOp{b.Pool, r.Actions.List, r.Baseline != nil, old != nil, &buffer{size: n}, &buffer{size: n}}
	return b.node(&Op{
		name: name, wrt: wrt, fills: []*buffer{l.lse, l.factor},
		f32: reinforceForward(l, f32), f64: reinforceForward(l, f64),
		diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
			return one(b.node(&Op{
				name: name + ".dz", shape: in[0].Shape(), uses: []*buffer{l.lse, l.factor},
				f32: reinforceBackward[float32](l), f64: reinforceBackward[float64](l),
			}, in[0], grad, out))
		},
	}, operands...)
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
