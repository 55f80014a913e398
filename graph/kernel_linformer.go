package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// MixTokens is the kernel of w·x for every sequence: w (m, T), x (B·T, c) → (B·m, c), m mixtures of the T tokens.
func MixTokens(w, x Expr) (y Expr, ok bool) {
	if !x.fused() {
		return Expr{}, false
	}
	return x.apply("mix tokens", func() (*G.Node, error) {
		g, a, b := x.g, w.node.Shape(), x.node.Shape()
		if len(a) != 2 || len(b) != 2 || b[0]%a[1] != 0 {
			return nil, errors.Errorf("%v mixes %d tokens, %v is not so many for every sequence", a, a[1], b)
		}
		m := mixing{g.pool, b[0] / a[1], a[0], a[1], b[1]}
		return g.node(&op{
			name: "mix", shape: tensor.Shape{m.batch * m.mixed, m.cols}, f32: mix[float32](m), f64: mix[float64](m),
			diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
				dw, err := g.node(&op{name: "mix.dw", shape: in[0].Shape().Clone(), f32: mixDW[float32](m), f64: mixDW[float64](m)}, in[1], grad)
				if err != nil {
					return nil, err
				}
				dx, err := g.node(&op{name: "mix.dx", shape: in[1].Shape().Clone(), f32: mixDX[float32](m), f64: mixDX[float64](m)}, in[0], grad)
				return G.Nodes{dw, dx}, err
			},
		}, w.node, x.node)
	}, w), true
}

type mixing struct {
	pool                       *kernel.Pool
	batch, mixed, tokens, cols int
}

// mix is y = w·x of every sequence.
func mix[T kernel.Float](m mixing) body[T] {
	return func(y []T, in [][]T) error {
		for b := range m.batch {
			w, x, y := kernel.Mat(in[0], m.tokens), in[1][b*m.tokens*m.cols:], y[b*m.mixed*m.cols:]
			kernel.Gemm(m.pool, m.mixed, m.cols, m.tokens, 1, w, kernel.Mat(x, m.cols), 0, kernel.Mat(y, m.cols))
		}
		return nil
	}
}

// mixDW is ∂w = Σ Δ·xᵀ over the sequences.
func mixDW[T kernel.Float](m mixing) body[T] {
	return func(dw []T, in [][]T) error {
		for b := range m.batch {
			x, dy := in[0][b*m.tokens*m.cols:], in[1][b*m.mixed*m.cols:]
			kernel.Gemm(m.pool, m.mixed, m.tokens, m.cols, 1, kernel.Mat(dy, m.cols), kernel.Mat(x, m.cols).T(), T(min(b, 1)), kernel.Mat(dw, m.tokens))
		}
		return nil
	}
}

// mixDX is Δx = wᵀ·Δ of every sequence.
func mixDX[T kernel.Float](m mixing) body[T] {
	return func(dx []T, in [][]T) error {
		for b := range m.batch {
			w, dy, dx := kernel.Mat(in[0], m.tokens), in[1][b*m.mixed*m.cols:], dx[b*m.tokens*m.cols:]
			kernel.Gemm(m.pool, m.tokens, m.cols, m.mixed, 1, w.T(), kernel.Mat(dy, m.cols), 0, kernel.Mat(dx, m.cols))
		}
		return nil
	}
}
