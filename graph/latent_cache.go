package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// LatentHeads are the sizes of attention to latents that all heads share: T tokens of B sequences, H heads, QK features
// of a query or key and V of a value per head, Latent features that keys and values are made of, and Rotary features that
// queries and keys have besides, those of the key being the same for every head; 0 without.
type LatentHeads struct{ Batch, Context, Heads, QK, V, Latent, Rotary int }

// Width is the number of floats that are kept of a token, Latent + Rotary.
func (h LatentHeads) Width() int { return h.Latent + h.Rotary }

// LatentCache holds the latents of one attention layer for the tokens so far. Graphs for one new token and for several
// may share it; run one at a time.
type LatentCache struct {
	heads LatentHeads
	f32   *kernel.LatentCache[float32]
	f64   *kernel.LatentCache[float64]
}

// NewLatentCache is an empty cache for h.Context tokens of h.Batch sequences.
func NewLatentCache(h LatentHeads) *LatentCache { return &LatentCache{heads: h} }

// Floats is how many numbers are kept for a full context: Latent + Rotary for every token. It is 0 before the first run,
// which makes room for them.
func (c *LatentCache) Floats() int {
	switch {
	case c.f32 != nil:
		return len(c.f32.Rows)
	case c.f64 != nil:
		return len(c.f64.Rows)
	}
	return 0
}

// CachedLatentAttention is multi-head latent attention of some new tokens per sequence to themselves and to the tokens
// before them, whose latents the cache remembers: q (B·n, H(QK+Rotary)), latent (B·n, Latent+Rotary) → (B·n, H·V). With
// upK (Latent, H·QK) and upV (Latent, H·V), c the first part of a latent and r the rest, head h has
//
//	softmax((q_h·upK_hᵀ·cᵀ + q_h'·rᵀ)/√(QK+Rotary) + mask)·c·upV_h
//
// where q_h' is the last Rotary features of its query. That is attention to the keys [c·upK_h | r] and the values c·upV_h,
// none of which is made: the ways up are absorbed. at, the mask and what is overwritten are those of CachedAttention. It
// has no derivative and no spelled form.
func CachedLatentAttention(q, latent, upK, upV, mask, at Expr, cache *LatentCache) Expr {
	return q.apply("cached latent attention", func() (*G.Node, error) {
		if cache == nil {
			return nil, errors.New("no cache to keep latents in")
		}
		h, g, rows := cache.heads, q.g, q.node.Shape()[0]
		if rows%h.Batch != 0 || rows/h.Batch > h.Context {
			return nil, errors.Errorf("%d tokens are not 1 … %d for each of %d sequences", rows, h.Context, h.Batch)
		}
		for _, part := range []struct {
			name string
			Expr
			rows, cols int
		}{
			{"queries", q, rows, h.Heads * (h.QK + h.Rotary)}, {"latents", latent, rows, h.Width()},
			{"the way up to the keys", upK, h.Latent, h.Heads * h.QK}, {"the way up to the values", upV, h.Latent, h.Heads * h.V},
		} {
			if want := (tensor.Shape{part.rows, part.cols}); !part.node.Shape().Eq(want) {
				return nil, errors.Errorf("%s: %v, want %v for %+v", part.name, part.node.Shape(), want, h)
			}
		}
		masks, err := h.masks(mask)
		if err != nil {
			return nil, err
		}
		if len(at.Ints()) != 1 {
			return nil, errors.Errorf("%d positions, 1 is needed", len(at.Ints()))
		}
		return g.node(&op{
			name: fmt.Sprintf("cachedlatentattention(%v)", h), shape: tensor.Shape{rows, h.Heads * h.V}, wrt: make([]bool, 6),
			f32: attendLatents(g.pool, h, masks, at.Ints(), func() *kernel.LatentCache[float32] { return lazyLatents(&cache.f32, h) }),
			f64: attendLatents(g.pool, h, masks, at.Ints(), func() *kernel.LatentCache[float64] { return lazyLatents(&cache.f64, h) }),
		}, q.node, latent.node, upK.node, upV.node, mask.node, at.node)
	}, latent, upK, upV, mask, at)
}

// masks is the number of masks, one or one for each head.
func (h LatentHeads) masks(mask Expr) (int, error) {
	batch, heads, err := Heads{h.Batch, h.Context, h.Heads, h.QK, h.V}.cross().masks(mask.node.Shape())
	if err == nil && batch > 1 {
		err = errors.Errorf("a mask for every sequence: one for all, (%d, %d), is needed", h.Context, h.Context)
	}
	return heads, err
}

func lazyLatents[T kernel.Float](cache **kernel.LatentCache[T], h LatentHeads) *kernel.LatentCache[T] {
	if *cache == nil {
		*cache = kernel.NewLatentCache[T](kernel.LatentHeads(h))
	}
	return *cache
}

func attendLatents[T kernel.Float](p *kernel.Pool, h LatentHeads, masks int, at []int, cache func() *kernel.LatentCache[T]) body[T] {
	return func(y []T, in [][]T) error {
		if last := at[0] + len(y)/(h.Batch*h.Heads*h.V); at[0] < 0 || last > h.Context {
			return errors.Errorf("tokens %d … %d of a context of %d", at[0], last-1, h.Context)
		}
		cache().Attend(p, y, in[0], in[1], in[2], in[3], kernel.Mask[T]{Data: in[4], Batch: 1, Heads: masks}, at[0])
		return nil
	}
}
