package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// CrossEntropy returns the kernel of the loss Σ (ln Σ e^z − z[target]), a scalar. The sum runs over the rows of logits
// (n, v) whose target is not the ignored id. If mean is set, it is divided by the number of these rows. An ignored row
// counts for nothing even if it is not finite. In the equation 0 times such a row is NaN.
func CrossEntropy(logits, targets Expr, mean bool) (loss Expr, ok bool) {
	return logits.kernel("cross entropy", func() (*G.Node, error) {
		g, n := logits.g, targets.count()
		if rows := logits.node.Shape()[0]; rows != n {
			return nil, errors.Errorf("%d rows of logits for %d targets", rows, n)
		}
		if err := targets.ids.check(logits.node.Shape()[1], "classes"); err != nil {
			return nil, err
		}
		l := &crossEntropyOp{
			pool: g.pool, targets: targets.Ints(), ignore: targets.ids.ignore, mean: mean, lse: &buffer{size: n},
		}
		return g.node(&op{
			name: fmt.Sprintf("crossentropy(%t)", mean), wrt: []bool{true, false}, fills: []*buffer{l.lse},
			f32: crossEntropy[float32](l), f64: crossEntropy[float64](l),
			diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
				return one(g.node(&op{
					name: "crossentropy.dz", shape: in[0].Shape(), uses: []*buffer{l.lse},
					f32: crossEntropyBackward[float32](l), f64: crossEntropyBackward[float64](l),
				}, in[0], grad, out))
			},
		}, logits.node, targets.node)
	}, targets)
}

// crossEntropyOp holds what the two passes share: the targets, and the log-sum-exp and the weight that the forward pass
// computes.
type crossEntropyOp struct {
	pool    *kernel.Pool
	targets []int
	ignore  int
	mean    bool
	lse     *buffer
	weight  float64
}

func crossEntropy[T kernel.Float](l *crossEntropyOp) body[T] {
	return func(out []T, in [][]T) {
		sum, kept := kernel.CrossEntropy(l.pool, in[0], of[T](l.lse), l.targets, l.ignore)
		if l.weight = 1; l.mean {
			l.weight = 1 / float64(kept)
		}
		out[0] = T(sum * l.weight)
	}
}

func crossEntropyBackward[T kernel.Float](l *crossEntropyOp) body[T] {
	return func(dz []T, in [][]T) {
		kernel.CrossEntropyBackward(l.pool, dz, in[0], of[T](l.lse), l.targets, l.ignore, T(l.weight)*in[1][0])
	}
}

// SquaredError returns the kernel of Σ w(x − y)²/Σ w, a scalar, for x, y and w with the same number of entries. The
// weights w are optional: empty weights are 1. It is differentiated by x and y. The gradient may be finite where a
// product of the equation overflows.
func SquaredError(x, y, weights Expr) (loss Expr, ok bool) {
	with := append([]Expr{y}, present(weights)...)
	return x.kernel("squared error", func() (*G.Node, error) {
		n, g := x.node.Shape().TotalSize(), x.g
		for _, e := range with {
			if got := e.node.Shape().TotalSize(); got != n {
				return nil, errors.Errorf("got %d numbers, want %d", got, n)
			}
		}
		return g.node(&op{
			name: "squarederror", wrt: []bool{true, true, false}[:1+len(with)],
			f32: squaredError[float32], f64: squaredError[float64],
			diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
				slope := func(of, from *G.Node) (*G.Node, error) { // 2w(of − from)/Σw
					return g.node(&op{
						name: "squarederror.dx", shape: of.Shape(),
						f32: squaredErrorBackward[float32], f64: squaredErrorBackward[float64],
					}, append(G.Nodes{grad, of, from}, in[2:]...)...)
				}
				dx, err := slope(in[0], in[1])
				if err != nil {
					return nil, err
				}
				dy, err := slope(in[1], in[0])
				return G.Nodes{dx, dy}, err
			},
		}, append(G.Nodes{x.node}, nodes(with...)...)...)
	}, with...)
}

func squaredError[T kernel.Float](out []T, in [][]T) {
	out[0] = T(kernel.SquaredError(in[0], in[1], third(in)))
}

func squaredErrorBackward[T kernel.Float](dx []T, in [][]T) {
	kernel.SquaredErrorBackward(dx, in[1], in[2], third(in[1:]), in[0][0])
}

// third returns the third operand, nil if there are only two.
func third[T kernel.Float](in [][]T) []T {
	if len(in) < 3 {
		return nil
	}
	return in[2]
}
