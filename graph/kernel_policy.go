package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// Reinforce is the kernel of −Σ w·A·ln π(action)/Σ w, a scalar: π the softmax of a row of logits (n, v), actions n ids,
// and the advantage A = returns − baseline, all three and the weights w (n, 1). An empty baseline is 0. It is
// differentiated by the logits alone. Running fails on an action outside 0 … v−1, also where its weight is 0, and whether
// ok or not.
func Reinforce(logits, actions, returns, baseline, weights Expr) (loss Expr, ok bool) {
	l := &policy{name: "reinforce"}
	return l.loss(logits, actions, returns, baseline, weights, Expr{})
}

// PPO is the kernel of −Σ w·min(r·A, clip(r, 1 ± clip)·A)/Σ w, a scalar, with r = π(action)/e^old and old (n, 1) the
// logarithms of the probabilities that the actions were drawn with; the rest is as in Reinforce.
func PPO(logits, actions, returns, baseline, weights, old Expr, clip float64) (loss Expr, ok bool) {
	l := &policy{name: fmt.Sprintf("ppo(%g)", clip), ppo: true, clip: clip}
	return l.loss(logits, actions, returns, baseline, weights, old)
}

// policy is what the two passes share: where the inputs are, and the log-sum-exp and the factor of every row.
type policy struct {
	name          string
	ppo           bool
	clip          float64
	pool          *kernel.Pool
	actions       []int
	baseline, old int // among the inputs; 0 is none
	lse, factor   *buffer
}

func (l *policy) loss(logits, actions, returns, baseline, weights, old Expr) (Expr, bool) {
	if actions.ids != nil {
		actions.ids.looked = true // also where the equation is spelled: an action that is ignored has no probability
	}
	if !logits.fused() {
		return Expr{}, false
	}
	with := []Expr{actions, returns, weights}
	if baseline.g != nil {
		l.baseline = 1 + len(with)
		with = append(with, baseline)
	}
	if l.ppo {
		l.old = 1 + len(with)
		with = append(with, old)
	}
	return logits.apply(l.name, func() (*G.Node, error) {
		n, g := logits.node.Shape()[0], logits.g
		if err := actions.ids.check(logits.node.Shape()[1], "actions"); err != nil {
			return nil, err
		}
		children, wrt := G.Nodes{logits.node}, []bool{true}
		for _, e := range with {
			if got := e.node.Shape().TotalSize(); got != n {
				return nil, errors.Errorf("%d numbers for %d rows of logits", got, n)
			}
			children, wrt = append(children, e.node), append(wrt, false)
		}
		l.pool, l.actions, l.lse, l.factor = g.pool, actions.Ints(), &buffer{size: n}, &buffer{size: n}
		return g.node(&op{
			name: l.name, scalar: true, wrt: wrt, fills: []*buffer{l.lse, l.factor}, f32: policyForward[float32](l), f64: policyForward[float64](l),
			diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
				dz, err := g.node(&op{
					name: l.name + ".dz", shape: in[0].Shape().Clone(), uses: []*buffer{l.lse, l.factor},
					f32: policyBackward[float32](l), f64: policyBackward[float64](l),
				}, in[0], grad, out)
				return append(G.Nodes{dz}, make(G.Nodes, len(in)-1)...), err
			},
		}, children...)
	}, with...), true
}

func policyForward[T kernel.Float](l *policy) body[T] {
	return func(out []T, in [][]T) error {
		var baseline []T
		if l.baseline > 0 {
			baseline = in[l.baseline]
		}
		if l.ppo {
			out[0] = T(kernel.PPO(l.pool, in[0], of[T](l.lse), of[T](l.factor), l.actions, in[2], baseline, in[3], in[l.old], l.clip))
		} else {
			out[0] = T(kernel.Reinforce(l.pool, in[0], of[T](l.lse), of[T](l.factor), l.actions, in[2], baseline, in[3]))
		}
		return nil
	}
}

func policyBackward[T kernel.Float](l *policy) body[T] {
	return func(dz []T, in [][]T) error {
		kernel.PolicyBackward(l.pool, dz, in[0], of[T](l.lse), of[T](l.factor), l.actions, in[1][0])
		return nil
	}
}

// SquaredError is the kernel of Σ w(x − y)²/Σ w, a scalar, for x, y and w (n, 1). It is differentiated by x alone.
func SquaredError(x, y, weights Expr) (loss Expr, ok bool) {
	if !x.fused() {
		return Expr{}, false
	}
	return x.apply("squared error", func() (*G.Node, error) {
		n, g := x.node.Shape().TotalSize(), x.g
		for _, e := range []Expr{y, weights} {
			if got := e.node.Shape().TotalSize(); got != n {
				return nil, errors.Errorf("%d numbers beside %d", got, n)
			}
		}
		return g.node(&op{
			name: "squarederror", scalar: true, wrt: []bool{true, false, false}, f32: squaredError[float32], f64: squaredError[float64],
			diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
				dx, err := g.node(&op{
					name: "squarederror.dx", shape: in[0].Shape().Clone(), f32: squaredErrorDX[float32], f64: squaredErrorDX[float64],
				}, in[0], in[1], in[2], grad)
				return G.Nodes{dx, nil, nil}, err
			},
		}, x.node, y.node, weights.node)
	}, y, weights), true
}

func squaredError[T kernel.Float](out []T, in [][]T) error {
	out[0] = T(kernel.SquaredError(in[0], in[1], in[2]))
	return nil
}

func squaredErrorDX[T kernel.Float](dx []T, in [][]T) error {
	kernel.SquaredErrorBackward(dx, in[0], in[1], in[2], in[3][0])
	return nil
}
