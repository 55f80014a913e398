package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// LayerNorm is the kernel of y = (x − μ)/√(σ² + eps)∘w + b over the rows of x (n, d), with w (1, d) and b (1, d) or
// empty for none.
func LayerNorm(x, w, b Expr, eps float64) (y Expr, ok bool) {
	if !x.fused() {
		return Expr{}, false
	}
	with := []Expr{w}
	if b.g != nil {
		with = append(with, b)
	}
	return x.apply("layernorm", func() (*G.Node, error) {
		n, d := x.node.Shape()[0], x.node.Shape()[1]
		if got := w.node.Shape().TotalSize(); got != d {
			return nil, errors.Errorf("%d gains for %d features", got, d)
		}
		children := G.Nodes{x.node}
		for _, e := range with {
			children = append(children, e.node)
		}
		s32, s64 := &rowStats[float32]{n: n}, &rowStats[float64]{n: n}
		return x.g.node(&op{
			name: fmt.Sprintf("layernorm(%g)", eps), shape: x.node.Shape().Clone(),
			f32: layerNorm(x.g.pool, s32, eps), f64: layerNorm(x.g.pool, s64, eps),
			diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
				return x.g.layerNormBackward(in, out, grad, s32, s64)
			},
		}, children...)
	}, with...), true
}

// rowStats is what the forward pass leaves for the backward pass: μ and 1/σ of every row.
type rowStats[T kernel.Float] struct {
	n         int
	mean, inv []T
}

func (s *rowStats[T]) alloc() {
	if s.mean == nil {
		s.mean, s.inv = make([]T, s.n), make([]T, s.n)
	}
}

func layerNorm[T kernel.Float](p *kernel.Pool, s *rowStats[T], eps float64) body[T] {
	return func(y []T, in [][]T) error {
		s.alloc()
		var bias []T
		if len(in) > 2 {
			bias = in[2]
		}
		kernel.LayerNorm(p, y, in[0], in[1], bias, s.mean, s.inv, eps)
		return nil
	}
}

// layerNormBackward has the forward result among its inputs so that it runs after it, when μ and 1/σ are there.
func (g *Graph) layerNormBackward(in G.Nodes, out, grad *G.Node, s32 *rowStats[float32], s64 *rowStats[float64]) (G.Nodes, error) {
	x, w := in[0], in[1]
	dw := &op{shape: w.Shape().Clone()}
	var db *op
	if len(in) > 2 {
		db = &op{shape: in[2].Shape().Clone()}
	}
	dx, err := g.node(&op{
		name: "layernorm.dx", shape: x.Shape().Clone(),
		f32: layerNormDX(g.pool, s32, dw, db), f64: layerNormDX(g.pool, s64, dw, db),
	}, x, w, grad, out)
	if err != nil {
		return nil, err
	}
	grads := G.Nodes{dx}
	for _, part := range []*op{dw, db} {
		if part == nil {
			continue
		}
		n, err := g.part("layernorm.dw", dx, part)
		if err != nil {
			return nil, err
		}
		grads = append(grads, n)
	}
	return grads, nil
}

func layerNormDX[T kernel.Float](p *kernel.Pool, s *rowStats[T], dw, db *op) body[T] {
	return func(dx []T, in [][]T) error {
		kernel.LayerNormBackward(p, dx, numbers[T](dw), numbers[T](db), in[0], in[1], in[2], s.mean, s.inv)
		return nil
	}
}
