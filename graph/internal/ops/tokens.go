package ops

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// MeanTokens returns the mean over the tokens of each of batch sequences: x (B·T, d) → (B, d).
func (b *Builder) MeanTokens(x *G.Node, batch int) (*G.Node, error) {
	shape := x.Shape()
	d := shape[1]
	return b.node(&Op{
		name: "meantokens", shape: tensor.Shape{batch, d},
		f32: meanTokens[float32](b.Pool, d), f64: meanTokens[float64](b.Pool, d),
		diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			return one(b.node(&Op{
				name: "meantokens.dx", shape: shape,
				f32: meanTokensBackward[float32](b.Pool, d), f64: meanTokensBackward[float64](b.Pool, d),
			}, grad))
		},
	}, x)
}

func meanTokens[T kernel.Float](p *kernel.Pool, d int) body[T] {
	return func(y []T, in [][]T) { kernel.MeanTokens(p, y, in[0], d) }
}

func meanTokensBackward[T kernel.Float](p *kernel.Pool, d int) body[T] {
	return func(dx []T, in [][]T) { kernel.MeanTokensBackward(p, dx, in[0], d) }
}

// GatherTokens returns row b·T + at[b] of x (B·T, d) for each sequence b.
func (b *Builder) GatherTokens(x *G.Node, at IDs) (*G.Node, error) {
	shape, list := x.Shape(), at.List
	d := shape[1]
	return b.node(&Op{
		name: "gathertokens", shape: tensor.Shape{at.Node.Shape()[0], d}, wrt: []bool{true, false},
		f32: gatherTokens[float32](list, d), f64: gatherTokens[float64](list, d),
		diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			return one(b.node(&Op{
				name: "gathertokens.dx", shape: shape,
				f32: scatterTokens[float32](list, d), f64: scatterTokens[float64](list, d),
			}, grad))
		},
	}, x, at.Node)
}

func gatherTokens[T kernel.Float](at []int, d int) body[T] {
	return func(y []T, in [][]T) { kernel.GatherTokens(y, in[0], at, d) }
}

func scatterTokens[T kernel.Float](at []int, d int) body[T] {
	return func(dx []T, in [][]T) { kernel.ScatterTokens(dx, in[0], at, d) }
}

type mixTokensOp struct {
	pool                       *kernel.Pool
	batch, mixed, tokens, cols int
}

// MixTokens returns w·x for every sequence: w (m, T), x (B·T, c) → (B·m, c).
func (b *Builder) MixTokens(w, x *G.Node) (*G.Node, error) {
	mixed, tokens := w.Shape()[0], w.Shape()[1]
	m := mixTokensOp{b.Pool, x.Shape()[0] / tokens, mixed, tokens, x.Shape()[1]}
	return b.node(&Op{
		name: "mixtokens", shape: tensor.Shape{m.batch * m.mixed, m.cols},
		f32: mixTokens[float32](m), f64: mixTokens[float64](m),
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			dw, err := b.node(&Op{
				name: "mixtokens.dw", shape: in[0].Shape(), f32: mixTokensDW[float32](m), f64: mixTokensDW[float64](m),
			}, in[1], grad)
			if err != nil {
				return nil, err
			}
			dx, err := b.node(&Op{
				name: "mixtokens.dx", shape: in[1].Shape(), f32: mixTokensDX[float32](m), f64: mixTokensDX[float64](m),
			}, in[0], grad)
			return G.Nodes{dw, dx}, err
		},
	}, w, x)
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
