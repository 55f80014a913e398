package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// CrossEntropy is the kernel of the loss Σ (ln Σ e^z − z[target]) over the rows of logits (n, v) whose target is not the
// ignored one, divided by their number if mean is set: a scalar.
func CrossEntropy(logits, targets Expr, mean bool) (loss Expr, ok bool) {
	if !logits.fused() {
		return Expr{}, false
	}
	return logits.apply("cross entropy", func() (*G.Node, error) {
		g, list := logits.g, targets.Ints()
		if n := logits.node.Shape()[0]; n != len(list) {
			return nil, errors.Errorf("%d rows of logits for %d targets", n, len(list))
		}
		if err := targets.ids.check(logits.node.Shape()[1], "classes"); err != nil {
			return nil, err
		}
		ignore := targets.ids.ignore
		l := &lossOf{targets: list, ignore: ignore, mean: mean, lse: &buffer{size: len(list)}}
		return g.node(&op{
			name: fmt.Sprintf("crossentropy(%t)", mean), scalar: true, wrt: []bool{true, false}, fills: []*buffer{l.lse},
			f32: lossForward[float32](g.pool, l), f64: lossForward[float64](g.pool, l),
			diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
				dz, err := g.node(&op{
					name: "crossentropy.dz", shape: in[0].Shape().Clone(), uses: []*buffer{l.lse},
					f32: lossBackward[float32](g.pool, l), f64: lossBackward[float64](g.pool, l),
				}, in[0], grad, out)
				return G.Nodes{dz, nil}, err
			},
		}, logits.node, targets.node)
	}, targets), true
}

// lossOf is what forward and backward pass share: the targets, and the log-sum-exp and the weight that the forward pass
// leaves.
type lossOf struct {
	targets []int
	ignore  int
	mean    bool
	lse     *buffer
	scale   float64
}

func lossForward[T kernel.Float](p *kernel.Pool, l *lossOf) body[T] {
	return func(out []T, in [][]T) error {
		sum, kept := kernel.CrossEntropy(p, in[0], of[T](l.lse), l.targets, l.ignore)
		if l.scale = 1; l.mean {
			l.scale = 1 / float64(kept)
		}
		out[0] = T(sum * l.scale)
		return nil
	}
}

func lossBackward[T kernel.Float](p *kernel.Pool, l *lossOf) body[T] {
	return func(dz []T, in [][]T) error {
		kernel.CrossEntropyBackward(p, dz, in[0], of[T](l.lse), l.targets, l.ignore, T(l.scale)*in[1][0])
		return nil
	}
}
