package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// SwiGLU returns the kernel of y = gate∘σ(gate)∘up, all of shape (n, f). Its backward pass needs only the operands.
// Large gates are as in SiLU.
func SwiGLU(gate, up Expr) (y Expr, ok bool) {
	return gate.kernel("swiglu", func() (*G.Node, error) {
		g, shape := gate.g, gate.node.Shape()
		if got := up.node.Shape(); !got.Eq(shape) {
			return nil, errors.Errorf("up: got shape %v, want that of the gate, %v", got, shape)
		}
		return g.node(&op{
			name: "swiglu", shape: shape, f32: swiglu[float32](g.pool), f64: swiglu[float64](g.pool),
			diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
				dup := &buffer{size: shape.TotalSize()}
				dgate, err := g.node(&op{
					name: "swiglu.dgate", shape: shape, fills: []*buffer{dup},
					f32: swigluBackward[float32](g.pool, dup), f64: swigluBackward[float64](g.pool, dup),
				}, in[0], in[1], grad)
				if err != nil {
					return nil, err
				}
				part, err := g.part("swiglu.dup", dgate, dup, shape)
				return G.Nodes{dgate, part}, err
			},
		}, gate.node, up.node)
	}, up)
}

func swiglu[T kernel.Float](p *kernel.Pool) body[T] {
	return func(y []T, in [][]T) { kernel.SwiGLU(p, y, in[0], in[1]) }
}

func swigluBackward[T kernel.Float](p *kernel.Pool, dup *buffer) body[T] {
	return func(dgate []T, in [][]T) { kernel.SwiGLUBackward(p, dgate, of[T](dup), in[0], in[1], in[2]) }
}
