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
	return mix(x.In(l.scope), earlier.In(l.scope), l.Lambda)
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

// ValueResidual passes the values of the first block to all others (Zhou et al. 2024, the learnable ResFormer): in
// block l > 0,
//
//	v_l ← λ₁·v_l + λ₂·v_0
//
// takes the place of the values v_l, where v_0 are those of the same tokens in the first block. λ₁ and λ₂ are learned
// numbers of the block. The queries and keys do not change. The blocks of a model share a ValueResidual.
type ValueResidual struct {
	first graph.Expr // v_0 of the pass
	width int        // of v_0
	mixed int        // blocks
}

// NewValueResidual returns the ValueResidual of a model.
func NewValueResidual() *ValueResidual { return &ValueResidual{} }

// Blocks returns the number of blocks so far whose attention keeps or mixes values.
func (r *ValueResidual) Blocks() int {
	if r == nil {
		return 0
	}
	return r.mixed
}

// values mixes the values in packed projections, whose first columns are queries and keys.
type values struct {
	shared *ValueResidual // nil does not mix
	Lambda graph.Expr     // [λ₁, λ₂]; empty in the first block
	from   int            // the number of columns of queries and keys
	scope  graph.Scope
}

// newValues declares v_lambda, two numbers that start at ½, in every block except the first. There are width columns of
// values.
func newValues(at Site, from, width int) values {
	l := values{at.Values, graph.Expr{}, from, at.Scope}
	if l.shared == nil {
		return l
	}
	l.shared.mixed++
	if at.Block == 0 {
		l.shared.width = width
	} else {
		if of := l.shared.width; of > 0 && of != width {
			at.Failf("%d features of values to mix with %d of the first block, want the same number", width, of)
		}
		l.Lambda = at.Param("v_lambda", graph.Const(0.5), 2)
	}
	return l
}

// forward returns [q | k | λ₁·v + λ₂·v_0].
func (l values) forward(qkv graph.Expr) graph.Expr { // (n, H·dρ+G(dρ+dh)) → the same
	if l.shared == nil || len(qkv.Shape()) != 2 {
		return qkv
	}
	if l.Lambda.Graph() == nil {
		l.shared.first = qkv.Cols(l.from, qkv.Shape()[1])
		return qkv
	}
	if first := l.shared.first; first.Graph() != qkv.Graph() {
		l.scope.Failf("no values of the first block: block 0 must come before the others")
		return qkv
	}
	return mix(qkv, l.shared.first.In(l.scope), l.Lambda)
}
