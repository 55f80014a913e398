package nn

import (
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// smearWidth is the number of features that the gate of a Smear reads, as in nanochat.
const smearWidth = 24

// Smear is an Embedder that adds to every token a share of the token before it, before any attention (record of
// 2025-09-18 of modded-nanogpt, whose gate reads 12 features and starts at 0; nanochat, whose values these are):
//
//	x_t ← x_t + λ·σ(w·x_t[:24])·x_{t−1},  x_t = 0 for t < 0
//
// The first token of a sequence does not change. With a Carry a window continues the text of the one before.
type Smear struct {
	Weight graph.Expr // w (24), or as many as there are features if these are fewer
	Lambda graph.Expr // λ (1)
	Dims
	cache *fused.ConvCache
	state *State // the last token
	scope graph.Scope
}

// NewSmear declares weight, drawn from U(0, 0.02), and lambda, which starts at 0: a Smear starts as the identity.
func NewSmear(at Site) *Smear {
	uniform := func(_ int, rng *rand.Rand) float64 { return 0.02 * rng.Float64() }
	return &Smear{
		Weight: at.Param("weight", uniform, min(smearWidth, at.Embd)), Lambda: at.Param("lambda", graph.Const(0), 1),
		Dims: at.Dims, state: at.state(at.Embd), scope: at.Scope,
		cache: cacheAt(at.Caches, at.Path(), func() *fused.ConvCache {
			return fused.NewConvCache(at.Batch, at.Embd, 2)
		}),
	}
}

// Forward adds to every token a share of the one before it.
func (l *Smear) Forward(_, x graph.Expr) (result graph.Expr) { // (B·T), (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	x = x.In(l.scope)
	if l.state == nil {
		return l.add(x, x.Delay(1, l.Context))
	}
	all := rows(l.state.Before.In(l.scope), x, l.Batch) // (B·(1+T), d)
	l.state.After = lastRows(x, l.Batch, 1)
	width := l.Context * l.Embd
	earlier := all.Reshape(l.Batch, width+l.Embd).Columns(0, width) // without the last token
	return l.add(x, earlier.Reshape(l.Batch*l.Context, l.Embd))
}

// Step continues from the last token, which it has stored. at is as in ShortConv.Step.
func (l *Smear) Step(_, x, at graph.Expr) (result graph.Expr) { // (B·n), (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	x = x.In(l.scope)
	return l.add(x, fused.CachedDelay(x, at, l.cache))
}

// add returns x + λ·σ(w·x[:24])·earlier.
func (l *Smear) add(x, earlier graph.Expr) graph.Expr {
	n := min(smearWidth, l.Embd)
	gate := x.Columns(0, n).Mul(l.Weight.In(l.scope)).Sum().Sigmoid() // (n, 1)
	return x.Add(earlier.Mul(gate.Mul(l.Lambda.In(l.scope))))
}
