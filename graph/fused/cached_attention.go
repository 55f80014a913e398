package fused

import (
	"cmp"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
)

// KVCache holds the keys and values of one attention layer for the tokens so far, stored once per group.
type KVCache struct {
	shape   AttentionShape
	forgets bool // it also holds the running sums of gates
	window  bool // it has room for a window
	room    attention.Room
	cachedTokens
}

// NewKVCache returns an empty cache for h.Context tokens of h.Batch sequences.
func NewKVCache(h AttentionShape) *KVCache {
	return &KVCache{shape: h, cachedTokens: newCachedTokens(h.Batch, h.Context, h.kernel().Groups*(h.QK+h.V))}
}

// NewWindowCache returns an empty cache for attention in a window: the mask lets a query attend to the newest window
// tokens, its own among them, and to the first tokens of its sequence, and hides all others. The cache has room for
// these and for fewer than 110 more, which keep the sums of a step in the order in which a cache of all tokens adds
// them: the results have the same bits. A window below 1 or a negative number of first tokens is an error of
// CachedAttention.
func NewWindowCache(h AttentionShape, window, first int) *KVCache {
	c := NewKVCache(h)
	c.window, c.room = true, attention.Room{Window: window, First: first}
	if c.checkRoom() == nil {
		c.kept = c.room.Keys(h.Context)
	}
	return c
}

func (c *KVCache) checkRoom() error {
	if !c.window || c.room.Window > 0 && c.room.First >= 0 {
		return nil
	}
	return errors.Errorf("a cache for a window of %d tokens and the first %d, want 1 or more, and 0 or more",
		c.room.Window, c.room.First)
}

// Select returns a cache for steps of some sequences.
func (c *KVCache) Select(rows []int) Cache {
	if c == nil {
		return c
	}
	selected := *c
	selected.shape.Batch, selected.lanes = len(rows), c.selected(rows)
	return &selected
}

// whole returns the shape of all sequences of the cache.
func (c *KVCache) whole() AttentionShape {
	h := c.shape
	h.Batch = c.total
	return h
}

// CachedAttention returns the attention of n new tokens per sequence to themselves and to the tokens before them, whose
// keys and values the cache holds: (B·n, H·QK+G(QK+V)) → (B·n, H·V). The input at is one integer, the position of the
// first new token, or one for each sequence; the others follow, so at + n is at most Context. The mask is (T, T), or
// (1, H, T, T) if heads differ. It must hide later tokens. Running at a position again overwrites what was stored
// there; tokens after the new ones are ignored. CachedAttention has no derivative and no reference: it equals rows at …
// at+n−1 of Attention.
func CachedAttention(qkv, mask, at graph.Expr, cache *KVCache) graph.Expr {
	return cachedAttention("cached attention", attention.Softmax, ops.Extra{}, qkv, mask, at, cache)
}

// CachedSinkAttention is CachedAttention with a sink in every head. It equals rows of SinkAttention.
func CachedSinkAttention(qkv, mask, sinks, at graph.Expr, cache *KVCache) graph.Expr {
	return cachedAttention("cached attention", attention.Softmax, ops.Extra{Sinks: sinks.Operand()},
		qkv, mask, at, cache, present(sinks)...)
}

// CachedSigmoidAttention is CachedAttention with the weights σ(score + mask − ln n) in place of a softmax, where n is
// the number of keys that the query attends to.
func CachedSigmoidAttention(qkv, mask, at graph.Expr, cache *KVCache) graph.Expr {
	return cachedAttention("cached sigmoid attention", attention.Sigmoids, ops.Extra{}, qkv, mask, at, cache)
}

// NewForgettingCache returns an empty cache for CachedForgettingAttention, with two more numbers of each head per
// token: a running sum and its rounding error.
func NewForgettingCache(h AttentionShape) *KVCache {
	c := NewKVCache(h)
	c.forgets = true
	c.width += 2 * h.Heads
	return c
}

// CachedForgettingAttention is CachedAttention with the logarithms of the gates of the new tokens, logF (B·n, H). It
// equals rows of ForgettingAttention. The cache is one of NewForgettingCache.
func CachedForgettingAttention(qkv, logF, mask, at graph.Expr, cache *KVCache) graph.Expr {
	return cachedAttention("cached forgetting attention", attention.Softmax, ops.Extra{Gates: logF.Operand()},
		qkv, mask, at, cache, logF)
}

// cachedAttention returns the step of attention with the given weights. more holds the expression of extra, if any.
func cachedAttention(
	name string, w attention.Weights, extra ops.Extra, qkv, mask, at graph.Expr, cache *KVCache, more ...graph.Expr,
) graph.Expr {
	return qkv.Operate(name, func(g *ops.Builder) (*ops.Node, error) {
		if cache == nil {
			return nil, errors.New("no cache to keep keys and values in")
		}
		h, rows := cache.shape, qkv.Operand().Shape()[0]
		err := cmp.Or(h.check(qkv.Operand(), rows), cache.checkRoom(), cache.checkExtra(extra, more, rows))
		if err != nil {
			return nil, err
		}
		masks, err := cache.checkRows(rows, h.Heads, mask, at)
		if err != nil {
			return nil, err
		}
		k := cache.whole().kernel()
		k.Weights = w
		step := cache.step(g, at, mask, masks, rows/h.Batch)
		return g.CachedAttention(k, cache.room, cache.held, step, extra, qkv.Operand(), mask.Operand())
	}, append([]graph.Expr{mask.ByRule(), at}, more...)...)
}

// checkExtra returns an error unless the extra operand has the sizes and the kind of the cache.
func (c *KVCache) checkExtra(extra ops.Extra, more []graph.Expr, rows int) error {
	switch gated := extra.Gates != nil; {
	case gated && !c.forgets:
		return errors.New("gates with a cache of NewKVCache, want one of NewForgettingCache")
	case !gated && c.forgets:
		return errors.New("no gates with a cache of NewForgettingCache, want one of NewKVCache")
	case gated:
		return checkGates(more[0], rows, c.shape.Heads)
	case extra.Sinks != nil:
		return checkSinks(more[0], c.shape.Heads)
	}
	return nil
}

// PairCache holds two keys and two values per token so far for every head of an attention layer, such as the local and
// the global ones of Longformer.
type PairCache struct {
	shape AttentionShape
	cachedTokens
}

// NewPairCache returns an empty cache for h.Context tokens of h.Batch sequences.
func NewPairCache(h AttentionShape) *PairCache {
	h.Groups = h.Heads
	return &PairCache{h, newCachedTokens(h.Batch, h.Context, 2*h.Heads*(h.QK+h.V))}
}

// Select returns a cache for steps of some sequences.
func (c *PairCache) Select(rows []int) Cache {
	if c == nil {
		return c
	}
	h, t := c.shape, c.cachedTokens
	h.Batch, t.lanes = len(rows), t.selected(rows)
	return &PairCache{h, t}
}

// whole returns the shape of all sequences of the cache.
func (c *PairCache) whole() AttentionShape {
	h := c.shape
	h.Batch = c.total
	return h
}

// CachedPairAttention returns the attention of n new tokens per sequence to themselves and to the tokens before them,
// from two packed projections side by side: (B·n, 2H(2·QK+V)) → (B·n, H·V). Each query is multiplied by the keys of its
// own projection, and one softmax runs over both. The mask is (1, H, T, 2T), with the two keys of a token side by side.
// The input at and overwriting are as in CachedAttention. CachedPairAttention has no derivative and no reference.
func CachedPairAttention(qkv, mask, at graph.Expr, cache *PairCache) graph.Expr {
	return qkv.Operate("cached pair attention", func(g *ops.Builder) (*ops.Node, error) {
		if cache == nil {
			return nil, errors.New("no cache to keep keys and values in")
		}
		h, s := cache.shape, qkv.Operand().Shape()
		if len(s) != 2 || s[1] != 2*h.Width() || h.QK < 1 || s[0]%h.Batch != 0 || s[0]/h.Batch > h.Context {
			return nil, errors.Errorf(
				"%v is not (n·%d, %d), two packed projections of up to %d tokens of each sequence of %+v",
				s, h.Batch, 2*h.Width(), h.Context, h)
		}
		if want := (ops.Shape{1, h.Heads, h.Context, 2 * h.Context}); !mask.Operand().Shape().Eq(want) {
			return nil, errors.Errorf("a mask %v, want %v", mask.Operand().Shape(), want)
		}
		if err := cmp.Or(cache.checkPosition(at), checkCap(h.Cap)); err != nil {
			return nil, err
		}
		step := cache.step(g, at, mask, h.Heads, s[0]/h.Batch)
		return g.CachedPairAttention(cache.whole().kernel(), cache.held, step, qkv.Operand(), mask.Operand())
	}, mask.ByRule(), at)
}

// LatentShape holds the sizes of attention to latents that all heads share: Context tokens of Batch sequences, and
// Heads heads with QK features per query or key and V features per value. Keys and values are computed from Latent
// features. Queries and keys have Rotary further features, which are the same for the keys of all heads; 0 means none.
type LatentShape struct{ Batch, Context, Heads, QK, V, Latent, Rotary int }

// Width returns the number of floats stored per token, Latent + Rotary.
func (h LatentShape) Width() int { return h.Latent + h.Rotary }

// LatentCache holds the latents of one attention layer for the tokens so far, Latent + Rotary floats per token.
type LatentCache struct {
	shape LatentShape
	cachedTokens
}

// NewLatentCache returns an empty cache for h.Context tokens of h.Batch sequences.
func NewLatentCache(h LatentShape) *LatentCache {
	return &LatentCache{h, newCachedTokens(h.Batch, h.Context, h.Width())}
}

// Select returns a cache for steps of some sequences.
func (c *LatentCache) Select(rows []int) Cache {
	if c == nil {
		return c
	}
	h, t := c.shape, c.cachedTokens
	h.Batch, t.lanes = len(rows), t.selected(rows)
	return &LatentCache{h, t}
}

// CachedLatentAttention returns the multi-head latent attention of n new tokens per sequence to themselves and to the
// tokens before them, whose latents the cache holds: q (B·n, H(QK+Rotary)), latent (B·n, Latent+Rotary) → (B·n, H·V).
// With upK (Latent, H·QK) and upV (Latent, H·V), c the first part of a latent and r the rest, head h computes
//
//	softmax((q_h·upK_hᵀ·cᵀ + q_h'·rᵀ)/√(QK+Rotary) + mask)·c·upV_h
//
// where q_h' is the last Rotary features of its query. This equals attention to the keys [c·upK_h | r] and the values
// c·upV_h, but computes none of these: the up-projections are absorbed. The input at, the mask and overwriting are as
// in CachedAttention. CachedLatentAttention has no derivative and no reference.
func CachedLatentAttention(q, latent, upK, upV, mask, at graph.Expr, cache *LatentCache) graph.Expr {
	return q.Operate("cached latent attention", func(g *ops.Builder) (*ops.Node, error) {
		if cache == nil {
			return nil, errors.New("no cache to keep latents in")
		}
		h, rows := cache.shape, q.Operand().Shape()[0]
		masks, err := cache.checkRows(rows, h.Heads, mask, at)
		if err != nil {
			return nil, err
		}
		for _, operand := range []struct {
			name string
			graph.Expr
			rows, cols int
		}{
			{"queries", q, rows, h.Heads * (h.QK + h.Rotary)}, {"latents", latent, rows, h.Width()},
			{"the up-projection to the keys", upK, h.Latent, h.Heads * h.QK},
			{"the up-projection to the values", upV, h.Latent, h.Heads * h.V},
		} {
			if want := (ops.Shape{operand.rows, operand.cols}); !operand.Operand().Shape().Eq(want) {
				return nil, errors.Errorf("%s: %v, want %v for %+v", operand.name, operand.Operand().Shape(), want, h)
			}
		}
		h.Batch = cache.total
		s := cache.step(g, at, mask, masks, rows/cache.batch)
		return g.CachedLatentAttention(attention.LatentShape(h), cache.held, s,
			q.Operand(), latent.Operand(), upK.Operand(), upV.Operand(), mask.Operand())
	}, latent, upK, upV, mask.ByRule(), at)
}
