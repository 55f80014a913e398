package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// LatentShape is the sizes of attention to latents that all heads share: T tokens of B sequences, H heads, QK features
// of a query or key and V of a value per head, Latent features that keys and values are made of, and Rotary further
// features of queries and keys, those of the key being the same for every head; 0 without.
type LatentShape struct{ Batch, Context, Heads, QK, V, Latent, Rotary int }

// Width returns the number of floats that are kept of a token, Latent + Rotary.
func (h LatentShape) Width() int { return h.Latent + h.Rotary }

// LatentCache holds the latents of one attention layer for the tokens so far, Latent + Rotary floats a token.
type LatentCache struct {
	shape LatentShape
	cachedTokens
}

// NewLatentCache returns an empty cache for h.Context tokens of h.Batch sequences.
func NewLatentCache(h LatentShape) *LatentCache {
	return &LatentCache{h, cachedTokens{batch: h.Batch, context: h.Context, width: h.Width()}}
}

// CachedLatentAttention is multi-head latent attention of some new tokens per sequence to themselves and to the tokens
// before them, whose latents the cache remembers: q (B·n, H(QK+Rotary)), latent (B·n, Latent+Rotary) → (B·n, H·V). With
// upK (Latent, H·QK) and upV (Latent, H·V), c the first part of a latent and r the rest, head h has
//
//	softmax((q_h·upK_hᵀ·cᵀ + q_h'·rᵀ)/√(QK+Rotary) + mask)·c·upV_h
//
// where q_h' is the last Rotary features of its query. That is attention to the keys [c·upK_h | r] and the values
// c·upV_h, none of which is made: the ways up are absorbed. at, the mask and what is overwritten are those of
// CachedAttention. It has no derivative and no reference.
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
			{"the way up to the keys", upK, h.Latent, h.Heads * h.QK}, {"the way up to the values", upV, h.Latent, h.Heads * h.V},
		} {
			if want := (tensor.Shape{operand.rows, operand.cols}); !operand.node.Shape().Eq(want) {
				return nil, errors.Errorf("%s: %v, want %v for %+v", operand.name, operand.node.Shape(), want, h)
			}
		}
		return g.node(&op{
			name: fmt.Sprintf("cachedlatentattention(%v)", h), shape: tensor.Shape{rows, h.Heads * h.V}, wrt: make([]bool, 6),
			before: func() error { return cache.advance(list[0], rows/h.Batch) },
			f32:    cachedLatentAttention[float32](g.pool, cache, masks, list), f64: cachedLatentAttention[float64](g.pool, cache, masks, list),
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
