package ops

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// MatMulEach returns a·x in every row of a (n, t·s) and x (n, s·d), which hold matrices (t, s) and (s, d).
func (b *Builder) MatMulEach(a, x *G.Node, s int) (*G.Node, error) {
	n, columns := a.Shape()[0], a.Shape()[1]/s*(x.Shape()[1]/s)
	return b.node(&Op{
		name: fmt.Sprintf("matmuleach(%d)", s), shape: tensor.Shape{n, columns},
		f32: matMulEach[float32](b.Pool, n, s), f64: matMulEach[float64](b.Pool, n, s),
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			da := &buffer{part: true, size: in[0].Shape().TotalSize()}
			dx, err := b.node(&Op{
				name: fmt.Sprintf("matmuleach.dx(%d)", s), shape: in[1].Shape(), fills: []*buffer{da},
				f32: matMulEachBackward[float32](b.Pool, da, n, s), f64: matMulEachBackward[float64](b.Pool, da, n, s),
			}, in[0], in[1], grad)
			if err != nil {
				return nil, err
			}
			part, err := b.part("matmuleach.da", dx, da, in[0].Shape())
			return G.Nodes{part, dx}, err
		},
	}, a, x)
}

func matMulEach[T kernel.Float](p *kernel.Pool, n, s int) body[T] {
	return func(y []T, in [][]T) { kernel.MatMulEach(p, y, in[0], in[1], n, s) }
}

func matMulEachBackward[T kernel.Float](p *kernel.Pool, da *buffer, n, s int) body[T] {
	return func(dx []T, in [][]T) { kernel.MatMulEachBackward(p, of[T](da), dx, in[2], in[0], in[1], n, s) }
}
