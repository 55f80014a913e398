package ops

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// Convolve returns the causal convolution of x by w, of taps numbers for each feature.
func (b *Builder) Convolve(x, w *G.Node, c kernel.Convolution) (*G.Node, error) {
	size := w.Shape().TotalSize()
	return b.node(&Op{
		name: fmt.Sprintf("convolve(%v)", c), shape: x.Shape(),
		f32: convolve[float32](b.Pool, c), f64: convolve[float64](b.Pool, c),
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			dw, scratch := &buffer{part: true, size: size}, &buffer{size: kernel.Parts * size}
			dx, err := b.node(&Op{
				name: fmt.Sprintf("convolve.dx(%v)", c), shape: in[0].Shape(), fills: []*buffer{dw, scratch},
				f32: convolveBackward[float32](b.Pool, c, dw, scratch),
				f64: convolveBackward[float64](b.Pool, c, dw, scratch),
			}, in[0], in[1], grad)
			if err != nil {
				return nil, err
			}
			part, err := b.part("convolve.dw", dx, dw, in[1].Shape())
			return G.Nodes{dx, part}, err
		},
	}, x, w)
}

func convolve[T kernel.Float](p *kernel.Pool, c kernel.Convolution) body[T] {
	return func(y []T, in [][]T) { kernel.Convolve(p, c, y, in[0], in[1], nil) }
}

func convolveBackward[T kernel.Float](p *kernel.Pool, c kernel.Convolution, dw, scratch *buffer) body[T] {
	return func(dx []T, in [][]T) {
		kernel.ConvolveBackward(p, c, dx, of[T](dw), in[0], in[1], in[2], of[T](scratch))
	}
}

// CachedConvolve returns Convolve for new tokens of batch sequences, which continues from the tokens in past.
func (b *Builder) CachedConvolve(
	batch int, c kernel.Convolution, past *State, s Step, x, w *G.Node,
) (*G.Node, error) {
	return b.cached(s, &Op{
		name: fmt.Sprintf("cachedconvolve(%v)", c), shape: x.Shape(),
		f32: cachedConvolve[float32](b.Pool, batch, c, past, s.Rows),
		f64: cachedConvolve[float64](b.Pool, batch, c, past, s.Rows),
	}, x, w)
}

func cachedConvolve[T kernel.Float](
	p *kernel.Pool, batch int, c kernel.Convolution, state *State, rows []int,
) body[T] {
	var scratch []T
	return func(y []T, in [][]T) {
		with(state, rows, &scratch, func(past []T) {
			kernel.Convolve(p, c, y, in[0], in[1], past)
			kernel.Remember(past, in[0], batch)
		})
	}
}
