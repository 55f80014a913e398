package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/recurrent"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// ElmanCache holds h of the last token, (B, d), of one recurrent layer.
type ElmanCache struct {
	width int
	cachedState
}

// NewElmanCache is the cache before the first token, for batch sequences and width features.
func NewElmanCache(batch, width int) *ElmanCache {
	return &ElmanCache{width, cachedState{batch: batch}}
}

// CachedElman is Elman for the newest tokens of every sequence, (B·n, d) → (B·n, d), continuing from the cache. at is one
// integer, the number of tokens before them: at 0 the cache is reset, any other number has to be that of the tokens so far,
// or the run fails with ErrOrder. It has no derivative and no reference: it equals rows at … at+n−1 of Elman.
func CachedElman(a, w, at Expr, cache *ElmanCache) Expr {
	return a.apply("cached elman", func() (*G.Node, error) {
		if cache == nil {
			return nil, errors.New("no cache to continue from")
		}
		if err := checkElman(a.node, w.node, cache.batch); err != nil {
			return nil, err
		}
		if d := a.node.Shape()[1]; d != cache.width {
			return nil, errors.Errorf("%d features, the cache has %d", d, cache.width)
		}
		if err := checkPosition(at); err != nil {
			return nil, err
		}
		return a.g.node(&op{
			name: "cachedelman", shape: a.node.Shape().Clone(), wrt: []bool{false, false, false},
			f32: cachedElman[float32](a.g.pool, cache, at.Ints()), f64: cachedElman[float64](a.g.pool, cache, at.Ints()),
		}, a.node, w.node, at.node)
	}, w, at)
}

func cachedElman[T kernel.Float](p *kernel.Pool, c *ElmanCache, at []int) body[T] {
	return func(h []T, in [][]T) error {
		d, n := c.width, len(h)/(c.batch*c.width)
		last, err := stateAt[T](&c.cachedState, at[0], n, c.batch*d)
		if err != nil {
			return err
		}
		recurrent.Elman(p, h, in[0], in[1], last, c.batch, d)
		for b := range c.batch {
			copy(last[b*d:(b+1)*d], h[(b*n+n-1)*d:])
		}
		return nil
	}
}
