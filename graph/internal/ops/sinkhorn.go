package ops

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// Sinkhorn returns the matrices of logits z (n, s²), normalised by as many pairs of divisions.
func (b *Builder) Sinkhorn(z *G.Node, s, pairs int, eps float64) (*G.Node, error) {
	return b.sinkhorn("sinkhorn", false, s, pairs, eps, z)
}

// sinkhorn returns a pass of Sinkhorn: of z, or of z and Δ.
func (b *Builder) sinkhorn(name string, backward bool, s, pairs int, eps float64, in ...*G.Node) (*G.Node, error) {
	scratch := &buffer{size: kernel.SinkhornScratch(s, pairs)}
	o := &Op{
		name: fmt.Sprintf("%s(%d, %d, %v)", name, s, pairs, eps), shape: in[0].Shape(), fills: []*buffer{scratch},
		f32: sinkhorn[float32](b.Pool, backward, s, pairs, eps, scratch),
		f64: sinkhorn[float64](b.Pool, backward, s, pairs, eps, scratch),
	}
	if !backward {
		o.diff = func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			return one(b.sinkhorn("sinkhorn.dz", true, s, pairs, eps, in[0], grad))
		}
	}
	return b.node(o, in...)
}

func sinkhorn[T kernel.Float](p *kernel.Pool, backward bool, s, pairs int, eps float64, scratch *buffer) body[T] {
	return func(out []T, in [][]T) {
		k := kernel.Sinkhorn[T]{Z: in[0], Size: s, Pairs: pairs, Eps: eps, Scratch: of[T](scratch)}
		if backward {
			k.Backward(p, out, in[1])
		} else {
			k.Forward(p, out)
		}
	}
}
