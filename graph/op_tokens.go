package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// MeanTokens returns the kernel of the mean over the tokens of each of batch sequences: x (B·T, d) → (B, d).
func MeanTokens(x Expr, batch int) (y Expr, ok bool) {
	return x.kernel("mean of tokens", func() (*G.Node, error) {
		g, shape := x.g, x.node.Shape()
		if err := checkSequences(shape, batch); err != nil {
			return nil, err
		}
		d := shape[1]
		return g.node(&op{
			name: "meantokens", shape: tensor.Shape{batch, d},
			f32: meanTokens[float32](g.pool, d), f64: meanTokens[float64](g.pool, d),
			diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
				return one(g.node(&op{
					name: "meantokens.dx", shape: shape,
					f32: meanTokensBackward[float32](g.pool, d), f64: meanTokensBackward[float64](g.pool, d),
				}, grad))
			},
		}, x.node)
	})
}

// GatherTokens returns the kernel of one token of each sequence: row b·T + at[b] of x (B·T, d) is row b of y (B, d).
// Running fails on a position outside 0 … T−1, whether or not ok is true.
func GatherTokens(x, at Expr) (y Expr, ok bool) {
	if at.ids != nil {
		at.ids.isLookup = true // in the reference too: an ignored position has no token
	}
	return x.kernel("gather tokens", func() (*G.Node, error) {
		g, shape, batch := x.g, x.node.Shape(), at.count()
		if err := at.ids.check(shape[0], "tokens"); err != nil {
			return nil, err
		}
		if err := checkSequences(shape, batch); err != nil {
			return nil, err
		}
		if err := at.ids.check(shape[0]/batch, "tokens"); err != nil {
			return nil, err
		}
		d, list := shape[1], at.Ints()
		return g.node(&op{
			name: "gathertokens", shape: tensor.Shape{batch, d}, wrt: []bool{true, false},
			f32: gatherTokens[float32](list, d), f64: gatherTokens[float64](list, d),
			diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
				return one(g.node(&op{
					name: "gathertokens.dx", shape: shape,
					f32: scatterTokens[float32](list, d), f64: scatterTokens[float64](list, d),
				}, grad))
			},
		}, x.node, at.node)
	}, at)
}

func checkSequences(shape tensor.Shape, batch int) error {
	if len(shape) != 2 || batch < 1 || shape[0]%batch != 0 {
		return errors.Errorf("got %v, want the same number of tokens for each of %d sequences", shape, batch)
	}
	return nil
}

func meanTokens[T kernel.Float](p *kernel.Pool, d int) body[T] {
	return func(y []T, in [][]T) { kernel.MeanTokens(p, y, in[0], d) }
}

func meanTokensBackward[T kernel.Float](p *kernel.Pool, d int) body[T] {
	return func(dx []T, in [][]T) { kernel.MeanTokensBackward(p, dx, in[0], d) }
}

func gatherTokens[T kernel.Float](at []int, d int) body[T] {
	return func(y []T, in [][]T) { kernel.GatherTokens(y, in[0], at, d) }
}

func scatterTokens[T kernel.Float](at []int, d int) body[T] {
	return func(dx []T, in [][]T) { kernel.ScatterTokens(dx, in[0], at, d) }
}
