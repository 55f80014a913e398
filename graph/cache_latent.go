package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

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
	return &LatentCache{h, cachedTokens{batch: h.Batch, context: h.Context, width: h.Width()}}
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
func CachedLatentAttention(q, latent, upK, upV, mask, at Expr, cache *LatentCache) Expr {
	return q.apply("cached latent attention", func() (*G.Node, error) {
		if cache == nil {
			return nil, errors.New("no cache to keep latents in")
		}
		h, g, rows, list := cache.shape, q.g, q.node.Shape()[0], at.Ints()
		masks, err := cache.checkRows(rows, h.Heads, mask, at)
		if err != nil {
			return nil, err
		}
		for _, operand := range []struct {
			name string
			Expr
			rows, cols int
		}{
			{"queries", q, rows, h.Heads * (h.QK + h.Rotary)}, {"latents", latent, rows, h.Width()},
			{"the up-projection to the keys", upK, h.Latent, h.Heads * h.QK},
			{"the up-projection to the values", upV, h.Latent, h.Heads * h.V},
		} {
			if want := (tensor.Shape{operand.rows, operand.cols}); !operand.node.Shape().Eq(want) {
				return nil, errors.Errorf("%s: %v, want %v for %+v", operand.name, operand.node.Shape(), want, h)
			}
		}
		return g.node(&op{
			name:  fmt.Sprintf("cachedlatentattention(%v)", h),
			shape: tensor.Shape{rows, h.Heads * h.V}, wrt: make([]bool, 6),
			before: func() error { return cache.advance(list[0], rows/h.Batch) },
			f32:    cachedLatentAttention[float32](g.pool, cache, masks, list),
			f64:    cachedLatentAttention[float64](g.pool, cache, masks, list),
		}, q.node, latent.node, upK.node, upV.node, mask.node, at.node)
	}, latent, upK, upV, mask, at)
}

func cachedLatentAttention[T kernel.Float](p *kernel.Pool, cache *LatentCache, masks int, at []int) body[T] {
	return func(y []T, in [][]T) {
		c := held(&cache.cachedTokens, func() *attention.LatentCache[T] {
			return attention.NewLatentCache[T](attention.LatentShape(cache.shape))
		})
		c.Attend(p, y, in[0], in[1], in[2], in[3], attention.Mask[T]{Data: in[4], Batch: 1, Heads: masks}, at[0])
	}
}
