package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// normKernels are the two passes of a norm.
type normKernels[T kernel.Float] struct {
	forward  func(p *kernel.Pool, y []T, n kernel.Norm[T])
	backward func(p *kernel.Pool, n kernel.Norm[T], dy []T, grads kernel.NormGrads[T])
}

// normOp is what the passes of a norm share.
type normOp struct {
	name          string
	g             *Graph
	pool          *kernel.Pool
	d             int
	eps           float64
	gains, shifts bool    // there is a w, there is a b
	mean, spread  *buffer // of every row, as kernel.Norm has them
	f32           normKernels[float32]
	f64           normKernels[float64]
}

// norm is the operation on the rows of x (n, d) with gains w (1, d) and shifts b (1, d), each empty for none.
func norm(name string, x, w, b Expr, eps float64, f32 normKernels[float32], f64 normKernels[float64]) (y Expr, ok bool) {
	params := present(w, b)
	return x.kernel(name, func() (*G.Node, error) {
		if b.g != nil && w.g == nil {
			return nil, errors.New("shifts without gains")
		}
		n, d := x.node.Shape()[0], x.node.Shape()[1]
		for i, e := range params {
			if got := e.node.Shape().TotalSize(); got != d {
				return nil, errors.Errorf("%d %s for %d features", got, []string{"gains", "shifts"}[i], d)
			}
		}
		l := &normOp{name, x.g, x.g.pool, d, eps, w.g != nil, b.g != nil, &buffer{size: n}, &buffer{size: n}, f32, f64}
		return x.g.node(&op{
			name: fmt.Sprintf("%s(%g)", name, eps), shape: x.node.Shape().Clone(), fills: []*buffer{l.mean, l.spread},
			f32: normForward(l, f32), f64: normForward(l, f64), diff: l.backward,
		}, append(G.Nodes{x.node}, nodes(params...)...)...)
	}, params...)
}

// operands are x and, as far as they are there, w and b, which follow it; without gains w is ones.
func operands[T kernel.Float](l *normOp, x []T, params [][]T, ones []T) kernel.Norm[T] {
	n := kernel.Norm[T]{X: x, W: ones, Mean: of[T](l.mean), Spread: of[T](l.spread), Eps: l.eps}
	if l.gains {
		n.W, params = params[0], params[1:]
	}
	if l.shifts && len(params) > 0 {
		n.B = params[0]
	}
	return n
}

func ones[T kernel.Float](n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

func normForward[T kernel.Float](l *normOp, k normKernels[T]) body[T] {
	plain := ones[T](l.d)
	return func(y []T, in [][]T) error {
		k.forward(l.pool, y, operands(l, in[0], in[1:], plain))
		return nil
	}
}

// backward has the forward result among its inputs so that it runs after it, when μ and the spread are there.
func (l *normOp) backward(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	var dw, db *buffer
	params, scratch := []*buffer{}, &buffer{size: 2 * kernel.Parts * l.d}
	children := G.Nodes{in[0], grad, out}
	if l.gains {
		dw = &buffer{part: true, size: l.d}
		params, children = append(params, dw), append(children, in[1])
	}
	if l.shifts {
		db = &buffer{part: true, size: l.d}
		params = append(params, db)
	}
	dx, err := l.g.node(&op{
		name: l.name + ".dx", shape: in[0].Shape().Clone(), uses: []*buffer{l.mean, l.spread},
		fills: append(params[:len(params):len(params)], scratch),
		f32:   normBackward(l, l.f32, dw, db, scratch), f64: normBackward(l, l.f64, dw, db, scratch),
	}, children...)
	if err != nil {
		return nil, err
	}
	grads := G.Nodes{dx}
	for i, b := range params {
		n, err := l.g.part(l.name+[]string{".dw", ".db"}[i], dx, b, in[i+1].Shape())
		if err != nil {
			return nil, err
		}
		grads = append(grads, n)
	}
	return grads, nil
}

func normBackward[T kernel.Float](l *normOp, k normKernels[T], dw, db, scratch *buffer) body[T] {
	plain := ones[T](l.d)
	return func(dx []T, in [][]T) error {
		x, dy, gains := in[0], in[1], in[3:] // in[2] is the forward result
		k.backward(l.pool, operands(l, x, gains, plain), dy, kernel.NormGrads[T]{X: dx, W: of[T](dw), B: of[T](db), Scratch: of[T](scratch)})
		return nil
	}
}
