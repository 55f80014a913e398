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
		mean, inv := &buffer{size: n}, &buffer{size: n} // μ and 1/σ of every row, for the backward pass
		return x.g.node(&op{
			name: fmt.Sprintf("layernorm(%g)", eps), shape: x.node.Shape().Clone(), fills: []*buffer{mean, inv},
			f32: layerNorm[float32](x.g.pool, mean, inv, eps), f64: layerNorm[float64](x.g.pool, mean, inv, eps),
			diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
				return x.g.layerNormBackward(in, out, grad, mean, inv)
			},
		}, children...)
	}, with...), true
}

func layerNorm[T kernel.Float](p *kernel.Pool, mean, inv *buffer, eps float64) body[T] {
	return func(y []T, in [][]T) error {
		var bias []T
		if len(in) > 2 {
			bias = in[2]
		}
		kernel.LayerNorm(p, y, in[0], in[1], bias, of[T](mean), of[T](inv), eps)
		return nil
	}
}

// layerNormBackward has the forward result among its inputs so that it runs after it, when μ and 1/σ are there.
func (g *Graph) layerNormBackward(in G.Nodes, out, grad *G.Node, mean, inv *buffer) (G.Nodes, error) {
	x, w := in[0], in[1]
	params := []*buffer{{part: true}, {part: true}}[:len(in)-1] // ∂w, and ∂b if there is a bias
	var dw, db *buffer
	if dw = params[0]; len(params) > 1 {
		db = params[1]
	}
	for _, b := range params {
		b.size = w.Shape().TotalSize()
	}
	scratch := &buffer{size: 2 * kernel.Parts * w.Shape().TotalSize()}
	dx, err := g.node(&op{
		name: "layernorm.dx", shape: x.Shape().Clone(), fills: append(params[:len(params):len(params)], scratch), uses: []*buffer{mean, inv},
		f32: layerNormDX[float32](g.pool, mean, inv, dw, db, scratch), f64: layerNormDX[float64](g.pool, mean, inv, dw, db, scratch),
	}, x, w, grad, out)
	if err != nil {
		return nil, err
	}
	grads := G.Nodes{dx}
	for i, b := range params {
		n, err := g.part([]string{"layernorm.dw", "layernorm.db"}[i], dx, b, in[i+1].Shape())
		if err != nil {
			return nil, err
		}
		grads = append(grads, n)
	}
	return grads, nil
}

func layerNormDX[T kernel.Float](p *kernel.Pool, mean, inv, dw, db, scratch *buffer) body[T] {
	return func(dx []T, in [][]T) error {
		kernel.LayerNormBackward(p, dx, of[T](dw), of[T](db), in[0], in[1], in[2], of[T](mean), of[T](inv), of[T](scratch))
		return nil
	}
}
