package graph

import (
	"fmt"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// normKernels holds the two passes of a norm.
type normKernels[T kernel.Float] struct {
	forward  func(p *kernel.Pool, y []T, n kernel.Norm[T])
	backward func(p *kernel.Pool, n kernel.Norm[T], dy []T, grads kernel.NormGrads[T])
}

// normOp holds what the passes of a norm share.
type normOp struct {
	name         string
	g            *Graph
	d            int
	eps          float64
	mean, spread *buffer // one number per row, as in kernel.Norm
	f32          normKernels[float32]
	f64          normKernels[float64]
}

// norm returns the operation on the rows of x (n, d) with optional gains w (1, d) and shifts b (1, d).
func norm(
	name string, x, w, b Expr, eps float64, f32 normKernels[float32], f64 normKernels[float64],
) (y Expr, ok bool) {
	params := present(w, b)
	return x.kernel(name, func() (*G.Node, error) {
		if b.g != nil && w.g == nil {
			return nil, errors.New("shifts without gains")
		}
		if !(eps >= 0 && eps <= math.MaxFloat64) {
			return nil, errors.Errorf("eps: got %v, want at least 0", eps)
		}
		n, d := x.node.Shape()[0], x.node.Shape()[1]
		for i, e := range params {
			if got := e.node.Shape().TotalSize(); got != d {
				return nil, errors.Errorf("%d %s for %d features", got, []string{"gains", "shifts"}[i], d)
			}
		}
		l := &normOp{name, x.g, d, eps, &buffer{size: n}, &buffer{size: n}, f32, f64}
		return x.g.node(&op{
			name: fmt.Sprintf("%s(%g)", name, eps), shape: x.node.Shape(), fills: []*buffer{l.mean, l.spread},
			f32: normForward(l, f32), f64: normForward(l, f64), diff: l.backward,
		}, append(G.Nodes{x.node}, nodes(params...)...)...)
	}, params...)
}

// operands returns x and, if present, w and b; without gains w is ones.
func operands[T kernel.Float](l *normOp, x []T, params [][]T, ones []T) kernel.Norm[T] {
	n := kernel.Norm[T]{X: x, W: ones, Mean: of[T](l.mean), Spread: of[T](l.spread), Eps: l.eps}
	if len(params) > 0 {
		n.W = params[0]
	}
	if len(params) > 1 {
		n.B = params[1]
	}
	return n
}

// ones returns the gains of a norm without gains.
func ones[T kernel.Float](l *normOp) []T {
	if l.g.outline {
		return nil
	}
	return slices.Repeat([]T{1}, l.d)
}

func normForward[T kernel.Float](l *normOp, k normKernels[T]) body[T] {
	pool, plain := l.g.pool, ones[T](l)
	return func(y []T, in [][]T) {
		k.forward(pool, y, operands(l, in[0], in[1:], plain))
	}
}

// backward returns the gradients of x, w and b. The forward result is an input of its operation so that it runs after
// the forward pass, when μ and the spread are known.
func (l *normOp) backward(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	var params [2]*buffer // for gains and shifts; nil without
	var fills []*buffer
	for i := range in[1:] {
		params[i] = &buffer{part: true, size: l.d}
		fills = append(fills, params[i])
	}
	scratch := &buffer{size: 2 * kernel.Parts * l.d}
	dx, err := l.g.node(&op{
		name: l.name + ".dx", shape: in[0].Shape(), uses: []*buffer{l.mean, l.spread},
		fills: append(fills, scratch),
		f32:   normBackward(l, l.f32, params, scratch), f64: normBackward(l, l.f64, params, scratch),
	}, append(G.Nodes{in[0], grad, out}, in[1:min(2, len(in))]...)...)
	grads := G.Nodes{dx}
	for i := 0; err == nil && i < len(in)-1; i++ {
		var n *G.Node
		n, err = l.g.part(l.name+[]string{".dw", ".db"}[i], dx, params[i], in[i+1].Shape())
		grads = append(grads, n)
	}
	return grads, err
}

func normBackward[T kernel.Float](l *normOp, k normKernels[T], params [2]*buffer, scratch *buffer) body[T] {
	pool, plain := l.g.pool, ones[T](l)
	return func(dx []T, in [][]T) {
		x, dy, gains := in[0], in[1], in[3:] // in[2] is the forward result
		grads := kernel.NormGrads[T]{X: dx, W: of[T](params[0]), B: of[T](params[1]), Scratch: of[T](scratch)}
		k.backward(pool, operands(l, x, gains, plain), dy, grads)
	}
}

// LayerNorm returns the kernel of y = (x − μ)/√(σ² + eps)∘w + b over the rows of x (n, d), with optional w (1, d) and b
// (1, d). It is an error if b is given without w. The squares of a row may overflow in the kernel and not in the
// equation, or the other way round: then results that are not finite differ.
func LayerNorm(x, w, b Expr, eps float64) (y Expr, ok bool) {
	return norm("layernorm", x, w, b, eps,
		normKernels[float32]{kernel.LayerNorm[float32], kernel.LayerNormBackward[float32]},
		normKernels[float64]{kernel.LayerNorm[float64], kernel.LayerNormBackward[float64]})
}

// LayerNormSigma returns the kernel of y = (x − μ)/(σ + eps)∘w + b, with eps outside the root instead of inside.
// Otherwise it is like LayerNorm. The gradient of a row with σ = 0 is not finite.
func LayerNormSigma(x, w, b Expr, eps float64) (y Expr, ok bool) {
	return norm("layernorm_sigma", x, w, b, eps,
		normKernels[float32]{kernel.LayerNormSigma[float32], kernel.LayerNormSigmaBackward[float32]},
		normKernels[float64]{kernel.LayerNormSigma[float64], kernel.LayerNormSigmaBackward[float64]})
}
