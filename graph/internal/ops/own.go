package ops

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// Own is an operation that a user wrote.
type Own struct {
	Name  string
	Shape []int
	F32   OwnPass[float32]
	F64   OwnPass[float64]

	// Part is the number of successive entries of the result, and of operands of its shape, that the passes can compute
	// without the other entries, such as a row. Threads share the parts. 0 is for all entries.
	Part int
}

// OwnPass holds its two passes. Both add to zeros.
type OwnPass[T kernel.Float] struct {
	Forward  func(y []T, x [][]T)
	Backward func(dx [][]T, dy, y []T, x [][]T)
}

// Apply returns the result of own on list.
func (b *Builder) Apply(own Own, list G.Nodes) (*G.Node, error) {
	own.F32, own.F64 = own.F32.shared(b.Pool, own.Part), own.F64.shared(b.Pool, own.Part)
	o := &Op{name: own.Name, shape: own.Shape, f32: ownForward(own.F32), f64: ownForward(own.F64)}
	if own.F32.Backward != nil || own.F64.Backward != nil {
		o.diff = func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) { return b.ownBackward(own, in, out, grad) }
	}
	return b.node(o, list...)
}

// shared returns the pass on the threads of p, which call it for whole parts of the entries.
func (pass OwnPass[T]) shared(p *kernel.Pool, part int) OwnPass[T] {
	if part == 0 {
		return pass
	}
	each := func(n int, do func(from, to int)) {
		p.Rows(n/part, part, func(from, to int) { do(from*part, to*part) })
	}
	shared := OwnPass[T]{Forward: func(y []T, x [][]T) {
		each(len(y), func(from, to int) { pass.Forward(y[from:to], between(x, from, to)) })
	}}
	if pass.Backward != nil {
		shared.Backward = func(dx [][]T, dy, y []T, x [][]T) {
			each(len(y), func(from, to int) {
				pass.Backward(between(dx, from, to), dy[from:to], y[from:to], between(x, from, to))
			})
		}
	}
	return shared
}

func between[T kernel.Float](list [][]T, from, to int) (part [][]T) {
	for _, l := range list {
		part = append(part, l[from:to])
	}
	return part
}

func ownForward[T kernel.Float](pass OwnPass[T]) body[T] {
	return func(y []T, in [][]T) {
		clear(y)
		pass.Forward(y, in)
	}
}

// ownBackward returns the gradients of the operands: the first is the result of one operation, which fills the others.
func (b *Builder) ownBackward(own Own, in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	var others []*buffer
	for _, x := range in[1:] {
		others = append(others, &buffer{part: true, size: x.Shape().TotalSize()})
	}
	first, err := b.node(&Op{
		name: own.Name + ".dx", shape: in[0].Shape(), fills: others,
		f32: ownBackward(own.F32, others), f64: ownBackward(own.F64, others),
	}, append(append(G.Nodes{}, in...), out, grad)...)
	grads := G.Nodes{first}
	for i := 0; err == nil && i < len(others); i++ {
		var n *G.Node
		n, err = b.part(fmt.Sprintf("%s.dx%d", own.Name, i+1), first, others[i], in[i+1].Shape())
		grads = append(grads, n)
	}
	return grads, err
}

// ownBackward gives gradients that no program wants memory of their own.
func ownBackward[T kernel.Float](pass OwnPass[T], others []*buffer) body[T] {
	unwanted := make([][]T, len(others))
	return func(first []T, in [][]T) {
		n := len(in) - 2
		dx := [][]T{first}
		for i, b := range others {
			d := of[T](b)
			if d == nil {
				if unwanted[i] == nil {
					unwanted[i] = make([]T, b.size)
				}
				d = unwanted[i]
			}
			dx = append(dx, d)
		}
		for _, d := range dx {
			clear(d)
		}
		pass.Backward(dx, in[n+1], in[n], in[:n])
	}
}
