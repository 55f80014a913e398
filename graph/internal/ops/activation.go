package ops

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// Activation is a function of every entry with its backward pass.
type Activation struct {
	Name string
	f32  entrywise[float32]
	f64  entrywise[float64]
}

// entrywise holds the kernels of a function of every entry: the function, and its backward pass, dx from x and dy.
type entrywise[T kernel.Float] struct {
	f    func(p *kernel.Pool, y, x []T)
	back func(p *kernel.Pool, dx, x, dy []T)
}

// GELU returns x·Φ(x).
func GELU() Activation {
	return Activation{"gelu",
		entrywise[float32]{kernel.GELU[float32], kernel.GELUBackward[float32]},
		entrywise[float64]{kernel.GELU[float64], kernel.GELUBackward[float64]}}
}

// GELUTanh returns ½x(1 + tanh(√(2/π)(x + 0.044715·x³))).
func GELUTanh() Activation {
	return Activation{"gelu_tanh",
		entrywise[float32]{kernel.GELUTanh[float32], kernel.GELUTanhBackward[float32]},
		entrywise[float64]{kernel.GELUTanh[float64], kernel.GELUTanhBackward[float64]}}
}

// ReLU returns max(x, 0).
func ReLU() Activation {
	return Activation{"relu",
		entrywise[float32]{kernel.ReLU[float32], kernel.ReLUBackward[float32]},
		entrywise[float64]{kernel.ReLU[float64], kernel.ReLUBackward[float64]}}
}

// ReLU2 returns max(x, 0)².
func ReLU2() Activation {
	return Activation{"relu2",
		entrywise[float32]{kernel.ReLU2[float32], kernel.ReLU2Backward[float32]},
		entrywise[float64]{kernel.ReLU2[float64], kernel.ReLU2Backward[float64]}}
}

// Sigmoid returns σ(x) = 1/(1 + e^(−x)).
func Sigmoid() Activation {
	return Activation{"sigmoid",
		entrywise[float32]{kernel.Sigmoid[float32], kernel.SigmoidBackward[float32]},
		entrywise[float64]{kernel.Sigmoid[float64], kernel.SigmoidBackward[float64]}}
}

// SiLU returns x·σ(x).
func SiLU() Activation {
	return Activation{"silu",
		entrywise[float32]{kernel.SiLU[float32], kernel.SiLUBackward[float32]},
		entrywise[float64]{kernel.SiLU[float64], kernel.SiLUBackward[float64]}}
}

// Softplus returns ln(1 + eˣ).
func Softplus() Activation {
	return Activation{"softplus",
		entrywise[float32]{kernel.Softplus[float32], kernel.SoftplusBackward[float32]},
		entrywise[float64]{kernel.Softplus[float64], kernel.SoftplusBackward[float64]}}
}

// Activate returns the function f of every entry of x.
func (b *Builder) Activate(x *G.Node, f Activation) (*G.Node, error) {
	return b.node(&Op{
		name: f.Name, shape: x.Shape(), f32: f.f32.forward(b.Pool), f64: f.f64.forward(b.Pool),
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			return one(b.node(&Op{
				name: f.Name + ".dx", shape: in[0].Shape(), f32: f.f32.backward(b.Pool), f64: f.f64.backward(b.Pool),
			}, in[0], grad))
		},
	}, x)
}

func (e entrywise[T]) forward(p *kernel.Pool) body[T] {
	return func(y []T, in [][]T) { e.f(p, y, in[0]) }
}

func (e entrywise[T]) backward(p *kernel.Pool) body[T] {
	return func(dx []T, in [][]T) { e.back(p, dx, in[0], in[1]) }
}
