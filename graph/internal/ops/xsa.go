package ops

import (
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// Exclude returns y − λ∘(y·v/(‖v‖² + ε))∘v of every head, for y and v (n, H·d), and λ (H), which is optional.
func (b *Builder) Exclude(y, v, lambda *G.Node, heads int, eps float64) (*G.Node, error) {
	e := excluding{
		pool: b.Pool, heads: heads, width: y.Shape()[1] / heads, eps: eps, scratch: exclusionScratch(heads),
	}
	return b.node(&Op{
		name: fmt.Sprintf("exclude(%d, %v)", heads, eps), shape: y.Shape(), fills: []*buffer{e.scratch},
		f32: exclude[float32](e), f64: exclude[float64](e), diff: e.backward(b),
	}, append(G.Nodes{y, v}, present(lambda)...)...)
}

// excluding is both passes of Exclude. Only the backward pass has the last three buffers.
type excluding struct {
	pool              *kernel.Pool
	heads, width      int
	eps               float64
	scratch           *buffer
	dv, dlambda, sums *buffer
}

func exclusionScratch(heads int) *buffer { return &buffer{size: 3 * kernel.Parts * heads} }

// backward returns the function that makes the nodes of dy, dv and dλ.
func (e excluding) backward(b *Builder) func(in G.Nodes, y, grad *G.Node) (G.Nodes, error) {
	return func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
		e.scratch, e.sums = exclusionScratch(e.heads), &buffer{size: kernel.Parts * e.heads}
		parts := []*buffer{{part: true, size: in[1].Shape().TotalSize()}}
		if len(in) == 3 {
			parts = append(parts, &buffer{part: true, size: e.heads})
			e.dlambda = parts[1]
		}
		e.dv = parts[0]
		dy, err := b.node(&Op{
			name: fmt.Sprintf("exclude.dy(%d, %v)", e.heads, e.eps), shape: in[0].Shape(),
			fills: append(parts, e.scratch, e.sums),
			f32:   excludeBackward[float32](e), f64: excludeBackward[float64](e),
		}, append(slices.Clone(in), grad)...)
		list := G.Nodes{dy}
		for i, part := range parts {
			if err != nil {
				return nil, err
			}
			var d *G.Node
			d, err = b.part([]string{"exclude.dv", "exclude.dlambda"}[i], dy, part, in[i+1].Shape())
			list = append(list, d)
		}
		return list, err
	}
}

// exclusion returns the operands of the kernel: y, v and, if there is one, λ.
func exclusion[T kernel.Float](e excluding, in [][]T) kernel.Exclusion[T] {
	x := kernel.Exclusion[T]{
		Y: in[0], V: in[1], Heads: e.heads, Width: e.width, Eps: e.eps, Scratch: of[T](e.scratch),
	}
	if len(in) == 3 {
		x.Lambda = in[2]
	}
	return x
}

func exclude[T kernel.Float](e excluding) body[T] {
	return func(z []T, in [][]T) { kernel.Exclude(e.pool, z, exclusion(e, in)) }
}

func excludeBackward[T kernel.Float](e excluding) body[T] {
	return func(dy []T, in [][]T) {
		last := len(in) - 1
		x := exclusion(e, in[:last])
		kernel.ExcludeBackward(e.pool, dy, of[T](e.dv), of[T](e.dlambda), in[last], of[T](e.sums), x)
	}
}
