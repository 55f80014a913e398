package graph

import (
	"fmt"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// KVCache holds the keys and values of one attention layer for the tokens so far, stored once per group.
type KVCache struct {
	shape AttentionShape
	cachedTokens
}

// NewKVCache returns an empty cache for h.Context tokens of h.Batch sequences.
func NewKVCache(h AttentionShape) *KVCache {
	return &KVCache{h, cachedTokens{batch: h.Batch, context: h.Context, width: h.kernel().Groups * (h.QK + h.V)}}
}

// CachedAttention returns the attention of n new tokens per sequence to themselves and to the tokens before them, whose
// keys and values the cache holds: (B·n, H·QK+G(QK+V)) → (B·n, H·V). The input at is one integer, the position of the
// first new token; the others follow, so at + n is at most Context. The mask is (T, T), or (1, H, T, T) if heads
// differ. It must hide later tokens. Running at a position again overwrites what was stored there; tokens after the new
// ones are ignored. CachedAttention has no derivative and no reference: it equals rows at … at+n−1 of Attention.
func CachedAttention(qkv, mask, at Expr, cache *KVCache) Expr {
	return cached("attention", qkv, mask, at, cache, kernel.Softmax[float32], kernel.Softmax[float64])
}

// CachedSigmoidAttention is CachedAttention with the weights σ(score + mask − ln n) in place of a softmax, where n is
// the number of keys that the query attends to.
func CachedSigmoidAttention(qkv, mask, at Expr, cache *KVCache) Expr {
	return cached("sigmoid attention", qkv, mask, at, cache,
		kernel.SigmoidWeights[float32], kernel.SigmoidWeights[float64])
}

// cached returns the named attention, whose weights are computed from the scores and the mask of a query.
func cached(name string, qkv, mask, at Expr, cache *KVCache,
	weigh32 func(scores, mask []float32), weigh64 func(scores, mask []float64)) Expr {
	return qkv.apply("cached "+name, func() (*G.Node, error) {
		if cache == nil {
			return nil, errors.New("no cache to keep keys and values in")
		}
		h, rows, list := cache.shape, qkv.node.Shape()[0], at.Ints()
		if err := h.check(qkv.node, rows); err != nil {
			return nil, err
		}
		masks, err := cache.checkRows(rows, h.Heads, mask, at)
		if err != nil {
			return nil, err
		}
		return qkv.g.node(&op{
			name:  fmt.Sprintf("cached%s(%v)", strings.ReplaceAll(name, " ", ""), h),
			shape: tensor.Shape{rows, h.Heads * h.V}, wrt: []bool{false, false, false},
			before: func() error { return cache.advance(list[0], rows/h.Batch) },
			f32:    cachedAttention(qkv.g.pool, cache, masks, weigh32, list),
			f64:    cachedAttention(qkv.g.pool, cache, masks, weigh64, list),
		}, qkv.node, mask.node, at.node)
	}, mask, at)
}

func cachedAttention[T kernel.Float](p *kernel.Pool, cache *KVCache, masks int, weigh func(scores, mask []T),
	at []int) body[T] {
	return func(y []T, in [][]T) {
		c := held(&cache.cachedTokens, func() *attention.KVCache[T] {
			return attention.NewKVCache[T](cache.shape.kernel())
		})
		c.Attend(p, y, in[0], attention.Mask[T]{Data: in[1], Batch: 1, Heads: masks}, weigh, at[0])
	}
}
