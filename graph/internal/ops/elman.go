package ops

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/recurrent"
	G "gorgonia.org/gorgonia"
)

// Elman returns h_t = tanh(h_{t−1}·w + a_t) over batch sequences with h_0 = 0.
func (b *Builder) Elman(a, w *G.Node, batch int) (*G.Node, error) {
	d := w.Shape()[0]
	return b.node(&Op{
		name: "elman", shape: a.Shape(), f32: elman[float32](b.Pool, batch, d), f64: elman[float64](b.Pool, batch, d),
		diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
			dw := &buffer{part: true, size: in[1].Shape().TotalSize()}
			da, err := b.node(&Op{
				name: "elman.da", shape: in[0].Shape(), fills: []*buffer{dw},
				f32: elmanBackward[float32](b.Pool, batch, d, dw), f64: elmanBackward[float64](b.Pool, batch, d, dw),
			}, out, in[1], grad)
			if err != nil {
				return nil, err
			}
			part, err := b.part("elman.dw", da, dw, in[1].Shape())
			return G.Nodes{da, part}, err
		},
	}, a, w)
}

func elman[T kernel.Float](p *kernel.Pool, batch, d int) body[T] {
	return func(h []T, in [][]T) {
		recurrent.Elman(p, h, in[0], in[1], nil, batch, d)
	}
}

func elmanBackward[T kernel.Float](p *kernel.Pool, batch, d int, dw *buffer) body[T] {
	return func(da []T, in [][]T) {
		recurrent.ElmanBackward(p, da, of[T](dw), in[0], in[1], in[2], batch, d)
	}
}
