package nn

import (
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// Skip mixes an earlier place e of the residual stream into the input x of a block. λ is learned:
//
//	y = λ₁·x + λ₂·e
//
// From names the place: 0 is the embeddings, l > 0 the result of block l−1.
type Skip struct {
	Lambda graph.Expr // [λ₁, λ₂], or [λ₂] if λ₁ is 1
	From   int
	scope  graph.Scope
}

// NewEmbeddingSkip declares skip_lambda at a block, two numbers that start at 1 and 0. They mix the embeddings into the
// block's input, as in modded-nanogpt (Jordan et al. 2024):
//
//	x_l ← λ₁·x_l + λ₂·x_0
//
// Block 0, whose input is x_0, has none: NewEmbeddingSkip returns nil.
func NewEmbeddingSkip(at Site, _ int) *Skip {
	if at.Block == 0 {
		return nil
	}
	lambda := at.Param("skip_lambda", func(i int, _ *rand.Rand) float64 { return float64(1 - i) }, 2)
	return &Skip{lambda, 0, at.Scope}
}

// NewUNetSkip declares skip_lambda at a block of the second half, one number that starts at 1. It adds the result of
// the block at the same distance from the beginning as this one has from the end, a U as in modded-nanogpt (Jordan et
// al. 2024, after Ronneberger et al. 2015). For L blocks and i < ⌊L/2⌋, where y_i is the result of block i,
//
//	x_{L−1−i} ← x_{L−1−i} + λ₂·y_i
//
// NewUNetSkip returns nil for the other blocks. If L is even, the inner two blocks are neighbours, and λ₂ scales what
// passes from one to the other.
func NewUNetSkip(at Site, blocks int) *Skip {
	i := blocks - 1 - at.Block
	if i >= at.Block {
		return nil
	}
	return &Skip{at.Param("skip_lambda", graph.Const(1), 1), i + 1, at.Scope}
}

// Forward returns λ₁·x + λ₂·earlier.
func (l *Skip) Forward(x, earlier graph.Expr) (result graph.Expr) { // (n, d), (n, d) → (n, d)
	defer recoverUnbuilt(l, x, &result)
	return mix(x.In(l.scope), earlier, l.Lambda)
}

// mix returns [a | λ₁·b + λ₂·c] for x = [a | b] and λ = [λ₁, λ₂], or [λ₂] if λ₁ is 1.
func mix(x, c, lambda graph.Expr) graph.Expr {
	if y, ok := graph.MixColumns(x, c, lambda); ok {
		return y
	}
	if len(x.Shape()) != 2 || len(c.Shape()) != 2 {
		return x.Add(c) // reports the shapes
	}
	width, from, n := x.Shape()[1], x.Shape()[1]-c.Shape()[1], int(lambda.Entries())
	b, factors := x, lambda.Reshape(1, n)
	if from > 0 {
		b = x.Cols(from, width)
	}
	if n == 2 {
		b, factors = b.Mul(factors.Cols(0, 1)), factors.Cols(1, 2)
	}
	y := b.Add(c.Mul(factors))
	if from == 0 {
		return y
	}
	return x.Cols(0, from).Join(y)
}
