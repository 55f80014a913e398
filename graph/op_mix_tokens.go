package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// MixTokens returns the kernel of w·x for every sequence: w (m, T), x (B·T, c) → (B·m, c), that is, m mixtures of the T
// tokens.
func MixTokens(w, x Expr) (y Expr, ok bool) {
	return x.kernel("mix tokens", func() (*G.Node, error) {
		g, a, b := x.g, w.node.Shape(), x.node.Shape()
		if len(a) != 2 || len(b) != 2 || b[0]%a[1] != 0 {
			return nil, errors.Errorf("%v mixes %d tokens, %v is not a batch of such sequences", a, a[1], b)
		}
		m := mixTokensOp{g.pool, b[0] / a[1], a[0], a[1], b[1]}
		return g.node(&op{
			name: "mixtokens", shape: tensor.Shape{m.batch * m.mixed, m.cols},
			f32: mixTokens[float32](m), f64: mixTokens[float64](m),
			diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
				dw, err := g.node(&op{
					name: "mixtokens.dw", shape: in[0].Shape(),
					f32: mixTokensDW[float32](m), f64: mixTokensDW[float64](m),
				}, in[1], grad)
				if err != nil {
					return nil, err
				}
				dx, err := g.node(&op{
					name: "mixtokens.dx", shape: in[1].Shape(),
					f32: mixTokensDX[float32](m), f64: mixTokensDX[float64](m),
				}, in[0], grad)
				return G.Nodes{dw, dx}, err
			},
		}, w.node, x.node)
	}, w)
}

type mixTokensOp struct {
	pool                       *kernel.Pool
	batch, mixed, tokens, cols int
}

// mixTokens computes y = w·x for every sequence.
func mixTokens[T kernel.Float](m mixTokensOp) body[T] {
	return func(y []T, in [][]T) {
		for b := range m.batch {
			w, x, y := gemm.Mat(in[0], m.tokens), in[1][b*m.tokens*m.cols:], y[b*m.mixed*m.cols:]
			gemm.Mul(m.pool, m.mixed, m.cols, m.tokens, 1, w, gemm.Mat(x, m.cols), 0, gemm.Mat(y, m.cols))
		}
	}
}

// mixTokensDW computes ∂w = Σ Δ·xᵀ over the sequences.
func mixTokensDW[T kernel.Float](m mixTokensOp) body[T] {
	return func(dw []T, in [][]T) {
		for b := range m.batch {
			x, dy := in[0][b*m.tokens*m.cols:], in[1][b*m.mixed*m.cols:]
			gemm.Mul(m.pool, m.mixed, m.tokens, m.cols,
				1, gemm.Mat(dy, m.cols), gemm.Mat(x, m.cols).T(), T(min(b, 1)), gemm.Mat(dw, m.tokens))
		}
	}
}

// mixTokensDX computes Δx = wᵀ·Δ for every sequence.
func mixTokensDX[T kernel.Float](m mixTokensOp) body[T] {
	return func(dx []T, in [][]T) {
		for b := range m.batch {
			w, dy, dx := gemm.Mat(in[0], m.tokens), in[1][b*m.mixed*m.cols:], dx[b*m.tokens*m.cols:]
			gemm.Mul(m.pool, m.tokens, m.cols, m.mixed, 1, w.T(), gemm.Mat(dy, m.cols), 0, gemm.Mat(dx, m.cols))
		}
	}
}
