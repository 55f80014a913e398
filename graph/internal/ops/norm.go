package ops

import (
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// Norm is a norm of the rows of a matrix with its backward pass.
type Norm struct {
	Name string
	f32  normKernels[float32]
	f64  normKernels[float64]
}

// normKernels holds the two passes of a norm.
type normKernels[T kernel.Float] struct {
	forward  func(p *kernel.Pool, y []T, n kernel.Norm[T])
	backward func(p *kernel.Pool, n kernel.Norm[T], dy []T, grads kernel.NormGrads[T])
}

// LayerNorm returns (x − μ)/√(σ² + eps)∘w + b.
func LayerNorm() Norm {
	return Norm{"layernorm",
		normKernels[float32]{kernel.LayerNorm[float32], kernel.LayerNormBackward[float32]},
		normKernels[float64]{kernel.LayerNorm[float64], kernel.LayerNormBackward[float64]}}
}

// LayerNormSigma returns (x − μ)/(σ + eps)∘w + b.
func LayerNormSigma() Norm {
	return Norm{"layernorm_sigma",
		normKernels[float32]{kernel.LayerNormSigma[float32], kernel.LayerNormSigmaBackward[float32]},
		normKernels[float64]{kernel.LayerNormSigma[float64], kernel.LayerNormSigmaBackward[float64]}}
}

// RMSNorm returns x/√(mean(x²) + eps)∘w.
func RMSNorm() Norm {
	return Norm{"rmsnorm",
		normKernels[float32]{kernel.RMSNorm[float32], kernel.RMSNormBackward[float32]},
		normKernels[float64]{kernel.RMSNorm[float64], kernel.RMSNormBackward[float64]}}
}

// normOp holds what the passes of a norm share.
type normOp struct {
	Norm
	b            *Builder
	d            int
	eps          float64
	mean, spread *buffer // one number per row, as in kernel.Norm
}

// Normalize returns a norm of the rows of x (n, d). The params are gains w and shifts b of d numbers; b or both are
// optional.
func (b *Builder) Normalize(norm Norm, x *G.Node, params G.Nodes, eps float64) (*G.Node, error) {
	n, d := x.Shape()[0], x.Shape()[1]
	l := &normOp{norm, b, d, eps, &buffer{size: n}, &buffer{size: n}}
	return b.node(&Op{
		name: fmt.Sprintf("%s(%g)", norm.Name, eps), shape: x.Shape(), fills: []*buffer{l.mean, l.spread},
		f32: normForward(l, norm.f32), f64: normForward(l, norm.f64), diff: l.backward,
	}, append(G.Nodes{x}, params...)...)
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
	if l.b.Outline {
		return nil
	}
	return slices.Repeat([]T{1}, l.d)
}

func normForward[T kernel.Float](l *normOp, k normKernels[T]) body[T] {
	pool, plain := l.b.Pool, ones[T](l)
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
	dx, err := l.b.node(&Op{
		name: l.Name + ".dx", shape: in[0].Shape(), uses: []*buffer{l.mean, l.spread},
		fills: append(fills, scratch),
		f32:   normBackward(l, l.f32, params, scratch), f64: normBackward(l, l.f64, params, scratch),
	}, append(G.Nodes{in[0], grad, out}, in[1:min(2, len(in))]...)...)
	grads := G.Nodes{dx}
	for i := 0; err == nil && i < len(in)-1; i++ {
		var n *G.Node
		n, err = l.b.part(l.Name+[]string{".dw", ".db"}[i], dx, params[i], in[i+1].Shape())
		grads = append(grads, n)
	}
	return grads, err
}

func normBackward[T kernel.Float](l *normOp, k normKernels[T], params [2]*buffer, scratch *buffer) body[T] {
	pool, plain := l.b.Pool, ones[T](l)
	return func(dx []T, in [][]T) {
		x, dy, gains := in[0], in[1], in[3:] // in[2] is the forward result
		grads := kernel.NormGrads[T]{X: dx, W: of[T](params[0]), B: of[T](params[1]), Scratch: of[T](scratch)}
		k.backward(pool, operands(l, x, gains, plain), dy, grads)
	}
}

// qkNormOp holds what the passes of QKNorm share.
type qkNormOp struct {
	b             *Builder
	width         int
	sizes, groups [2]int
	eps           float64
	spread        *buffer // 1/rms of every group
}

// QKNorm normalises the first columns of x (n, width) in groups: groups[0] of them with gains wq, then groups[1] with
// gains wk.
func (b *Builder) QKNorm(x, wq, wk *G.Node, groups [2]int, eps float64) (*G.Node, error) {
	n, width := x.Shape()[0], x.Shape()[1]
	l := &qkNormOp{
		b: b, width: width, groups: groups, eps: eps, spread: &buffer{size: n * (groups[0] + groups[1])},
		sizes: [2]int{wq.Shape().TotalSize(), wk.Shape().TotalSize()},
	}
	return b.node(&Op{
		name: fmt.Sprintf("qknorm(%d,%d,%g)", groups[0], groups[1], eps), shape: x.Shape(), fills: []*buffer{l.spread},
		f32: qkNormForward[float32](l), f64: qkNormForward[float64](l), diff: l.backward,
	}, x, wq, wk)
}

func qkNormOf[T kernel.Float](l *qkNormOp, x, wq, wk []T) kernel.QKNorm[T] {
	return kernel.QKNorm[T]{
		X: x, W: [2][]T{wq, wk}, Spread: of[T](l.spread), Groups: l.groups, Width: l.width, Eps: l.eps,
	}
}

func qkNormForward[T kernel.Float](l *qkNormOp) body[T] {
	return func(y []T, in [][]T) { qkNormOf(l, in[0], in[1], in[2]).Run(l.b.Pool, y) }
}

// backward returns the gradients of x, wq and wk. Like normOp's, it has the forward result as an input.
func (l *qkNormOp) backward(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	var gains, scratch [2]*buffer
	for i, size := range l.sizes {
		gains[i], scratch[i] = &buffer{part: true, size: size}, &buffer{size: 2 * kernel.Parts * size}
	}
	dx, err := l.b.node(&Op{
		name: "qknorm.dx", shape: in[0].Shape(), uses: []*buffer{l.spread},
		fills: []*buffer{gains[0], gains[1], scratch[0], scratch[1]},
		f32:   qkNormBackward[float32](l, gains, scratch), f64: qkNormBackward[float64](l, gains, scratch),
	}, in[0], grad, out, in[1], in[2])
	if err != nil {
		return nil, err
	}
	dq, err := l.b.part("qknorm.dwq", dx, gains[0], in[1].Shape())
	if err != nil {
		return nil, err
	}
	dk, err := l.b.part("qknorm.dwk", dx, gains[1], in[2].Shape())
	return G.Nodes{dx, dq, dk}, err
}

func qkNormBackward[T kernel.Float](l *qkNormOp, gains, scratch [2]*buffer) body[T] {
	return func(dx []T, in [][]T) {
		qkNormOf(l, in[0], in[3], in[4]).Backward(l.b.Pool, in[1], [2]kernel.NormGrads[T]{
			{X: dx, W: of[T](gains[0]), Scratch: of[T](scratch[0])}, {W: of[T](gains[1]), Scratch: of[T](scratch[1])},
		})
	}
}
