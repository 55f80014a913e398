package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// BinaryCrossEntropy returns the kernel of the mean of max(z, 0) − z∘y + ln(1 + e^(−|z|)) over all entries, a scalar,
// with logits z and target probabilities y of one shape. It is differentiated by both.
func BinaryCrossEntropy(z, y Expr) (loss Expr, ok bool) {
	return z.kernel("binary cross entropy", func() (*G.Node, error) {
		g, shape := z.g, z.node.Shape()
		if other := y.node.Shape(); !shape.Eq(other) {
			return nil, errors.Errorf("%v logits for %v targets", shape, other)
		}
		return g.node(&op{
			name: "binarycrossentropy",
			f32:  binaryCrossEntropy[float32](g.pool), f64: binaryCrossEntropy[float64](g.pool),
			diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
				dz, err := g.node(&op{
					name: "binarycrossentropy.dz", shape: shape,
					f32: binaryCrossEntropyDZ[float32](g.pool), f64: binaryCrossEntropyDZ[float64](g.pool),
				}, in[0], in[1], grad)
				if err != nil {
					return nil, err
				}
				dy, err := g.node(&op{
					name: "binarycrossentropy.dy", shape: shape,
					f32: binaryCrossEntropyDY[float32], f64: binaryCrossEntropyDY[float64],
				}, in[0], grad)
				return G.Nodes{dz, dy}, err
			},
		}, z.node, y.node)
	}, y)
}

func binaryCrossEntropy[T kernel.Float](p *kernel.Pool) body[T] {
	return func(out []T, in [][]T) { out[0] = T(kernel.BinaryCrossEntropy(p, in[0], in[1])) }
}

func binaryCrossEntropyDZ[T kernel.Float](p *kernel.Pool) body[T] {
	return func(dz []T, in [][]T) { kernel.BinaryCrossEntropyBackward(p, dz, in[0], in[1], in[2][0]) }
}

// binaryCrossEntropyDY computes dy = −z/n.
func binaryCrossEntropyDY[T kernel.Float](dy []T, in [][]T) {
	kernel.Scale(dy, in[0], -in[1][0]/T(len(dy)))
}
