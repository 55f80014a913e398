package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// LayerNorm is the kernel of y = (x − μ)/√(σ² + eps)∘w + b over the rows of x (n, d), with w (1, d) and b (1, d), each
// empty for none; b without w is an error.
func LayerNorm(x, w, b Expr, eps float64) (y Expr, ok bool) {
	return layerNorm("layernorm", x, w, b, eps, false)
}

// LayerNormSigma is the kernel of y = (x − μ)/(σ + eps)∘w + b, with eps beside the root instead of inside.
func LayerNormSigma(x, w, b Expr, eps float64) (y Expr, ok bool) {
	return layerNorm("layernorm_sigma", x, w, b, eps, true)
}

func layerNorm(name string, x, w, b Expr, eps float64, sigma bool) (y Expr, ok bool) {
	if !x.fused() {
		return Expr{}, false
	}
	var with []Expr
	for _, e := range []Expr{w, b} {
		if e.g != nil {
			with = append(with, e)
		}
	}
	return x.apply(name, func() (*G.Node, error) {
		if b.g != nil && w.g == nil {
			return nil, errors.New("shifts without gains")
		}
		n, d := x.node.Shape()[0], x.node.Shape()[1]
		children := G.Nodes{x.node}
		for i, e := range with {
			if got := e.node.Shape().TotalSize(); got != d {
				return nil, errors.Errorf("%d %s for %d features", got, []string{"gains", "shifts"}[i], d)
			}
			children = append(children, e.node)
		}
		l := &norming{pool: x.g.pool, d: d, eps: eps, outside: sigma, mean: &buffer{size: n}, spread: &buffer{size: n}}
		return x.g.node(&op{
			name: fmt.Sprintf("%s(%g)", name, eps), shape: x.node.Shape().Clone(), fills: []*buffer{l.mean, l.spread},
			f32: normalise[float32](l), f64: normalise[float64](l),
			diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) { return x.g.normBackward(name, l, in, out, grad) },
		}, children...)
	}, with...), true
}

// norming is what the two passes share.
type norming struct {
	pool         *kernel.Pool
	d            int
	eps          float64
	outside      bool    // ε is added to σ, not to σ²
	mean, spread *buffer // μ of every row, and 1/√(σ² + ε), or σ where ε is outside
}

// ones stand for gains that are not there.
func ones[T kernel.Float](n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

func normalise[T kernel.Float](l *norming) body[T] {
	plain := ones[T](l.d)
	return func(y []T, in [][]T) error {
		w, b := plain, []T(nil)
		if len(in) > 1 {
			w = in[1]
		}
		if len(in) > 2 {
			b = in[2]
		}
		if l.outside {
			kernel.LayerNormSigma(l.pool, y, in[0], w, b, of[T](l.mean), of[T](l.spread), l.eps)
		} else {
			kernel.LayerNorm(l.pool, y, in[0], w, b, of[T](l.mean), of[T](l.spread), l.eps)
		}
		return nil
	}
}

// normBackward has the forward result among its inputs so that it runs after it, when μ and the spread are there.
func (g *Graph) normBackward(name string, l *norming, in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	params := []*buffer{{part: true, size: l.d}, {part: true, size: l.d}}[:len(in)-1] // ∂w and ∂b, those that there are
	var dw, db *buffer
	if len(params) > 0 {
		dw = params[0]
	}
	if len(params) > 1 {
		db = params[1]
	}
	children := G.Nodes{in[0], grad, out}
	if len(in) > 1 {
		children = append(children, in[1])
	}
	scratch := &buffer{size: 2 * kernel.Parts * l.d}
	dx, err := g.node(&op{
		name: name + ".dx", shape: in[0].Shape().Clone(), uses: []*buffer{l.mean, l.spread},
		fills: append(params[:len(params):len(params)], scratch),
		f32:   normDX[float32](l, dw, db, scratch), f64: normDX[float64](l, dw, db, scratch),
	}, children...)
	if err != nil {
		return nil, err
	}
	grads := G.Nodes{dx}
	for i, b := range params {
		n, err := g.part(name+[]string{".dw", ".db"}[i], dx, b, in[i+1].Shape())
		if err != nil {
			return nil, err
		}
		grads = append(grads, n)
	}
	return grads, nil
}

func normDX[T kernel.Float](l *norming, dw, db, scratch *buffer) body[T] {
	plain := ones[T](l.d)
	return func(dx []T, in [][]T) error {
		x, dy, w := in[0], in[1], plain
		if len(in) > 3 {
			w = in[3]
		}
		if l.outside {
			kernel.LayerNormSigmaBackward(l.pool, dx, of[T](dw), of[T](db), x, w, dy, of[T](l.mean), of[T](l.spread), of[T](scratch), l.eps)
		} else {
			kernel.LayerNormBackward(l.pool, dx, of[T](dw), of[T](db), x, w, dy, of[T](l.mean), of[T](l.spread), of[T](scratch))
		}
		return nil
	}
}
