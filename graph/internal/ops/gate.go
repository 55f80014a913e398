package ops

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// Gate is the product of an activation of one operand and another operand, with its backward pass.
type Gate struct {
	Name string
	f32  gate[float32]
	f64  gate[float64]
}

// gate holds the kernels of y = f(x)∘u: the function, and its backward pass, dx and du from x, u and dy.
type gate[T kernel.Float] struct {
	f    func(p *kernel.Pool, y, x, u []T)
	back func(p *kernel.Pool, dx, du, x, u, dy []T)
}

// SwiGLU returns x∘σ(x)∘u, in one pass.
func SwiGLU() Gate {
	return Gate{"swiglu",
		gate[float32]{kernel.SwiGLU[float32], kernel.SwiGLUBackward[float32]},
		gate[float64]{kernel.SwiGLU[float64], kernel.SwiGLUBackward[float64]}}
}

// Gated returns f(x)∘u.
func Gated(name string, f Activation) Gate { return Gate{name, f.f32.gate(), f.f64.gate()} }

func (e entrywise[T]) gate() gate[T] {
	return gate[T]{
		func(p *kernel.Pool, y, x, u []T) { kernel.Gated(p, e.f, y, x, u) },
		func(p *kernel.Pool, dx, du, x, u, dy []T) { kernel.GatedBackward(p, e.f, e.back, dx, du, x, u, dy) },
	}
}

// Gate returns f(x)∘u. Its backward pass needs only the operands.
func (b *Builder) Gate(x, u *G.Node, f Gate) (*G.Node, error) {
	shape := x.Shape()
	return b.node(&Op{
		name: f.Name, shape: shape, f32: f.f32.forward(b.Pool), f64: f.f64.forward(b.Pool),
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			dup := &buffer{size: shape.TotalSize()}
			dgate, err := b.node(&Op{
				name: f.Name + ".dgate", shape: shape, fills: []*buffer{dup},
				f32: f.f32.backward(b.Pool, dup), f64: f.f64.backward(b.Pool, dup),
			}, in[0], in[1], grad)
			if err != nil {
				return nil, err
			}
			part, err := b.part(f.Name+".dup", dgate, dup, shape)
			return G.Nodes{dgate, part}, err
		},
	}, x, u)
}

func (e gate[T]) forward(p *kernel.Pool) body[T] {
	return func(y []T, in [][]T) { e.f(p, y, in[0], in[1]) }
}

func (e gate[T]) backward(p *kernel.Pool, dup *buffer) body[T] {
	return func(dgate []T, in [][]T) { e.back(p, dgate, of[T](dup), in[0], in[1], in[2]) }
}
