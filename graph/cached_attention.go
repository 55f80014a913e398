package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// KVCache holds the keys and values of one attention layer for the tokens so far. Graphs for one new token and for
// several may share it; run one at a time.
type KVCache struct {
	heads Heads
	f32   *kernel.Cache[float32]
	f64   *kernel.Cache[float64]
}

// NewKVCache is an empty cache for h.Context tokens of h.Batch sequences.
func NewKVCache(h Heads) *KVCache { return &KVCache{heads: h} }

// CachedAttention is attention of some new tokens per sequence to themselves and to the tokens before them, whose keys
// and values the cache remembers: (B·n, H(2·QK+V)) → (B·n, H·V). at is one integer, the position of the first new token,
// so that at + n is at most Context; the others follow. The mask is (T, T), or (1, H, T, T) where heads differ; it has to
// hide what comes later. Running at a position again overwrites what was there, and what lies behind it is never looked
// at. It has no derivative and no spelled form: it equals rows at … at+n−1 of Attention.
func CachedAttention(qkv, mask, at Expr, cache *KVCache) Expr {
	return qkv.apply("cached attention", func() (*G.Node, error) {
		if cache == nil {
			return nil, errors.New("no cache to keep keys and values in")
		}
		h := cache.heads
		g, rows := qkv.g, qkv.node.Shape()[0]
		if err := h.check(qkv.node, rows); err != nil {
			return nil, err
		}
		if rows%h.Batch != 0 || rows/h.Batch > h.Context {
			return nil, errors.Errorf("%d tokens are not 1 … %d for each of %d sequences", rows, h.Context, h.Batch)
		}
		batch, heads, err := h.cross().masks(mask.node.Shape())
		if err != nil {
			return nil, err
		}
		if batch > 1 {
			return nil, errors.Errorf("a mask for every sequence: one for all, (%d, %d), is needed", h.Context, h.Context)
		}
		if len(at.Ints()) != 1 {
			return nil, errors.Errorf("%d positions, 1 is needed", len(at.Ints()))
		}
		return g.node(&op{
			name: fmt.Sprintf("cachedattention(%v)", h), shape: tensor.Shape{rows, h.Heads * h.V}, wrt: []bool{false, false, false},
			f32: attend(g.pool, h, heads, at.Ints(), func() *kernel.Cache[float32] { return lazily(&cache.f32, h) }),
			f64: attend(g.pool, h, heads, at.Ints(), func() *kernel.Cache[float64] { return lazily(&cache.f64, h) }),
		}, qkv.node, mask.node, at.node)
	}, mask, at)
}

func lazily[T kernel.Float](cache **kernel.Cache[T], h Heads) *kernel.Cache[T] {
	if *cache == nil {
		*cache = kernel.NewCache[T](kernel.Heads(h.cross()))
	}
	return *cache
}

func attend[T kernel.Float](p *kernel.Pool, h Heads, masks int, at []int, cache func() *kernel.Cache[T]) body[T] {
	return func(y []T, in [][]T) error {
		if last := at[0] + len(y)/(h.Batch*h.Heads*h.V); at[0] < 0 || last > h.Context {
			return errors.Errorf("tokens %d … %d of a context of %d", at[0], last-1, h.Context)
		}
		mask := kernel.Mask[T]{Data: in[1], Batch: 1, Heads: masks}
		kernel.Attend(p, kernel.Heads(h.cross()), y, in[0], mask, cache(), at[0])
		return nil
	}
}
