package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// PairCache holds two keys and two values per token so far for every head of an attention layer, such as the local and
// the global ones of Longformer.
type PairCache struct {
	shape AttentionShape
	cachedTokens
}

// NewPairCache returns an empty cache for h.Context tokens of h.Batch sequences.
func NewPairCache(h AttentionShape) *PairCache {
	h.Groups = h.Heads
	return &PairCache{h, cachedTokens{batch: h.Batch, context: h.Context, width: 2 * h.Heads * (h.QK + h.V)}}
}

// CachedPairAttention returns the attention of n new tokens per sequence to themselves and to the tokens before them,
// from two packed projections side by side: (B·n, 2H(2·QK+V)) → (B·n, H·V). Each query is multiplied by the keys of its
// own projection, and one softmax runs over both. The mask is (1, H, T, 2T), with the two keys of a token side by side.
// The input at and overwriting are as in CachedAttention. CachedPairAttention has no derivative and no reference.
func CachedPairAttention(qkv, mask, at Expr, cache *PairCache) Expr {
	return qkv.apply("cached pair attention", func() (*G.Node, error) {
		if cache == nil {
			return nil, errors.New("no cache to keep keys and values in")
		}
		h, s, list := cache.shape, qkv.node.Shape(), at.Ints()
		if len(s) != 2 || s[1] != 2*h.Width() || h.QK < 1 || s[0]%h.Batch != 0 || s[0]/h.Batch > h.Context {
			return nil, errors.Errorf(
				"%v is not (n·%d, %d), two packed projections of up to %d tokens of each sequence of %+v",
				s, h.Batch, 2*h.Width(), h.Context, h)
		}
		if want := (tensor.Shape{1, h.Heads, h.Context, 2 * h.Context}); !mask.node.Shape().Eq(want) {
			return nil, errors.Errorf("a mask %v, want %v", mask.node.Shape(), want)
		}
		if err := checkPosition(at); err != nil {
			return nil, err
		}
		return qkv.g.node(&op{
			name:  fmt.Sprintf("cachedpairattention(%v)", h),
			shape: tensor.Shape{s[0], h.Heads * h.V}, wrt: []bool{false, false, false},
			before: func() error { return cache.advance(list[0], s[0]/h.Batch) },
			f32:    cachedPairAttention[float32](qkv.g.pool, cache, list),
			f64:    cachedPairAttention[float64](qkv.g.pool, cache, list),
		}, qkv.node, mask.node, at.node)
	}, mask, at)
}

func cachedPairAttention[T kernel.Float](p *kernel.Pool, cache *PairCache, at []int) body[T] {
	return func(y []T, in [][]T) {
		c := held(&cache.cachedTokens, func() *attention.PairCache[T] {
			return attention.NewPairCache[T](cache.shape.kernel())
		})
		c.Attend(p, y, in[0], attention.Mask[T]{Data: in[1], Batch: 1, Heads: cache.shape.Heads}, at[0])
	}
}
