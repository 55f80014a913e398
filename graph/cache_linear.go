package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// LinearCache holds, for one layer of causal linear attention, the sums of φ(k)ᵀ·v and of φ(k) of every head over the
// tokens so far. Its size does not depend on the number of tokens.
type LinearCache struct {
	shape LinearShape
	cachedState
}

// NewLinearCache returns the cache before the first token.
func NewLinearCache(h LinearShape) *LinearCache {
	features := 0.0
	if h.Map.f64 != nil {
		features = float64(h.Map.f64.Size(h.QK))
	}
	numbers := float64(h.Batch) * float64(h.Heads) * features * float64(h.V+1)
	return &LinearCache{h, cachedState{batch: h.Batch, numbers: numbers}}
}

// CachedLinearAttention returns the causal linear attention of n new tokens per sequence to themselves and to the
// tokens before them: (B·n, H(2·QK+V)) → (B·n, H·V). Its time does not depend on the number of earlier tokens. The
// input at is one integer, the position of the first new token. Sums cannot be undone, so at must be the number of
// tokens so far, or 0, which forgets everything; otherwise running fails with ErrOrder. CachedLinearAttention has no
// derivative and no reference: it equals rows at … at+n−1 of LinearAttention.
func CachedLinearAttention(qkv, at Expr, cache *LinearCache) Expr {
	return qkv.apply("cached linear attention", func() (*G.Node, error) {
		if cache == nil {
			return nil, errors.New("no cache to keep sums in")
		}
		h, g, s, list := cache.shape, qkv.g, qkv.node.Shape(), at.Ints()
		if err := h.checkGroups(); err != nil {
			return nil, err
		}
		if len(s) != 2 || s[1] != h.Width() || s[0]%h.Batch != 0 {
			return nil, errors.Errorf("%v is not (n·%d, %d), the packed projections of %+v",
				s, h.Batch, h.Width(), h.AttentionShape)
		}
		if err := checkPosition(at); err != nil {
			return nil, err
		}
		h.Context = s[0] / h.Batch
		total, scratch := &buffer{size: s[0] * h.Heads}, &buffer{size: h.scratch(g.pool)}
		return g.node(&op{
			name:  fmt.Sprintf("cachedlinearattention(%v,%s)", h.AttentionShape, h.Map.name),
			shape: tensor.Shape{s[0], h.Heads * h.V}, wrt: []bool{false, false}, fills: []*buffer{total, scratch},
			before: func() error { return cache.advance(list[0], h.Context) },
			f32:    cachedLinearAttention(g.pool, linearKernel(h, h.Map.f32), cache, total, scratch),
			f64:    cachedLinearAttention(g.pool, linearKernel(h, h.Map.f64), cache, total, scratch),
		}, qkv.node, at.node)
	}, at)
}

func cachedLinearAttention[T kernel.Float](
	p *kernel.Pool, l attention.Linear[T], cache *LinearCache, total, scratch *buffer,
) body[T] {
	return func(y []T, in [][]T) {
		l.Forward(p, y, of[T](total), in[0], nil, stateOf[T](&cache.cachedState), of[T](scratch))
	}
}
