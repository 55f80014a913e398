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
		s32, s64 := &lossState[float32]{targets: list, ignore: ignore, mean: mean}, &lossState[float64]{targets: list, ignore: ignore, mean: mean}
		return g.node(&op{
			name: fmt.Sprintf("crossentropy(%t)", mean), scalar: true, wrt: []bool{true, false},
			f32: s32.forward(g.pool), f64: s64.forward(g.pool),
			diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
				dz, err := g.node(&op{
					name: "crossentropy.dz", shape: in[0].Shape().Clone(), f32: s32.backward(g.pool), f64: s64.backward(g.pool),
				}, in[0], grad, out)
				return G.Nodes{dz, nil}, err
			},
		}, logits.node, targets.node)
	}, targets), true
}

type lossState[T kernel.Float] struct {
	targets []int
	ignore  int
	mean    bool
	lse     []T
	scale   float64
}

func (s *lossState[T]) forward(p *kernel.Pool) body[T] {
	return func(out []T, in [][]T) error {
		if s.lse == nil {
			s.lse = make([]T, len(s.targets))
		}
		sum, kept := kernel.CrossEntropy(p, in[0], s.lse, s.targets, s.ignore)
		if s.scale = 1; s.mean {
			s.scale = 1 / float64(kept)
		}
		out[0] = T(sum * s.scale)
		return nil
	}
}

func (s *lossState[T]) backward(p *kernel.Pool) body[T] {
	return func(dz []T, in [][]T) error {
		kernel.CrossEntropyBackward(p, dz, in[0], s.lse, s.targets, s.ignore, T(s.scale)*in[1][0])
		return nil
	}
}
