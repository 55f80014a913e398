package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/recurrent"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// Elman is the kernel of h_t = tanh(h_{t−1}·w + a_t) over batch sequences with h_0 = 0: a (B·T, d), w (d, d) → (B·T, d).
// Its backward pass goes back through time.
func Elman(a, w Expr, batch int) (h Expr, ok bool) {
	return a.kernel("elman", func() (*G.Node, error) {
		g := a.g
		if err := checkElman(a.node, w.node, batch); err != nil {
			return nil, err
		}
		d := w.node.Shape()[0]
		return g.node(&op{
			name: "elman", shape: a.node.Shape().Clone(), f32: elman[float32](g.pool, batch, d), f64: elman[float64](g.pool, batch, d),
			diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
				dw := &buffer{part: true, size: in[1].Shape().TotalSize()}
				da, err := g.node(&op{
					name: "elman.da", shape: in[0].Shape().Clone(), fills: []*buffer{dw},
					f32: elmanBackward[float32](g.pool, batch, d, dw), f64: elmanBackward[float64](g.pool, batch, d, dw),
				}, out, in[1], grad)
				if err != nil {
					return nil, err
				}
				part, err := g.part("elman.dw", da, dw, in[1].Shape())
				return G.Nodes{da, part}, err
			},
		}, a.node, w.node)
	}, w)
}

func checkElman(a, w *G.Node, batch int) error {
	d := a.Shape()[1]
	if s := w.Shape(); s[0] != d || s[1] != d {
		return errors.Errorf("a recurrent weight %v, (%d, %d) is needed", s, d, d)
	}
	if n := a.Shape()[0]; batch < 1 || n%batch != 0 {
		return errors.Errorf("%d tokens are not equally many for each of %d sequences", n, batch)
	}
	return nil
}

func elman[T kernel.Float](p *kernel.Pool, batch, d int) body[T] {
	return func(h []T, in [][]T) error {
		recurrent.Elman(p, h, in[0], in[1], nil, batch, d)
		return nil
	}
}

func elmanBackward[T kernel.Float](p *kernel.Pool, batch, d int, dw *buffer) body[T] {
	return func(da []T, in [][]T) error {
		recurrent.ElmanBackward(p, da, of[T](dw), in[0], in[1], in[2], batch, d)
		return nil
	}
}
