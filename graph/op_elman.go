package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/recurrent"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// Elman returns the kernel of h_t = tanh(h_{t−1}·w + a_t) over batch sequences with h_0 = 0: a (B·T, d), w (d, d) →
// (B·T, d). Its backward pass is backpropagation through time.
func Elman(a, w Expr, batch int) (h Expr, ok bool) {
	return a.kernel("elman", func() (*G.Node, error) {
		g := a.g
		if err := checkElman(a.node, w.node, batch); err != nil {
			return nil, err
		}
		d := w.node.Shape()[0]
		return g.node(&op{
			name: "elman", shape: a.node.Shape(),
			f32: elman[float32](g.pool, batch, d), f64: elman[float64](g.pool, batch, d),
			diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
				dw := &buffer{part: true, size: in[1].Shape().TotalSize()}
				da, err := g.node(&op{
					name: "elman.da", shape: in[0].Shape(), fills: []*buffer{dw},
					f32: elmanBackward[float32](g.pool, batch, d, dw),
					f64: elmanBackward[float64](g.pool, batch, d, dw),
				}, out, in[1], grad)
				if err != nil {
					return nil, err
				}
				part, err := g.part("elman.dw", da, dw, in[1].Shape())
				return G.Nodes{da, part}, err
			},
		}, a.node, w.node)
	}, w)
}

func checkElman(a, w *G.Node, batch int) error {
	if s := a.Shape(); len(s) != 2 {
		return errors.Errorf("got tokens %v, want (B·n, d)", s)
	}
	d := a.Shape()[1]
	if s := w.Shape(); len(s) != 2 || s[0] != d || s[1] != d {
		return errors.Errorf("got a recurrent weight %v, want (%d, %d)", s, d, d)
	}
	if n := a.Shape()[0]; batch < 1 || n%batch != 0 {
		return errors.Errorf("got %d tokens, want the same number for each of %d sequences", n, batch)
	}
	return nil
}

func elman[T kernel.Float](p *kernel.Pool, batch, d int) body[T] {
	return func(h []T, in [][]T) {
		recurrent.Elman(p, h, in[0], in[1], nil, batch, d)
	}
}

func elmanBackward[T kernel.Float](p *kernel.Pool, batch, d int, dw *buffer) body[T] {
	return func(da []T, in [][]T) {
		recurrent.ElmanBackward(p, da, of[T](dw), in[0], in[1], in[2], batch, d)
	}
}

// ElmanCache holds h of the last token, (B, d), for one recurrent layer.
type ElmanCache struct {
	width int
	cachedState
}

// NewElmanCache returns the cache before the first token, for batch sequences and width features.
func NewElmanCache(batch, width int) *ElmanCache {
	return &ElmanCache{width, cachedState{batch: batch, numbers: float64(batch) * float64(width)}}
}

// CachedElman returns Elman for the newest tokens of every sequence, (B·n, d) → (B·n, d), continuing from the cache.
// The input at is one integer, the number of earlier tokens. At 0 the cache is reset; any other number must be that of
// the tokens so far, otherwise the run fails with ErrOrder. CachedElman has no derivative and no reference: it equals
// rows at … at+n−1 of Elman.
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
		list, n := at.Ints(), a.node.Shape()[0]/cache.batch
		return a.g.node(&op{
			name: "cachedelman", shape: a.node.Shape(), wrt: []bool{false, false, false},
			before: func() error { return cache.advance(list[0], n) },
			f32:    cachedElman[float32](a.g.pool, cache), f64: cachedElman[float64](a.g.pool, cache),
		}, a.node, w.node, at.node)
	}, w, at)
}

func cachedElman[T kernel.Float](p *kernel.Pool, c *ElmanCache) body[T] {
	return func(h []T, in [][]T) {
		d, n := c.width, len(h)/(c.batch*c.width)
		last := stateOf[T](&c.cachedState)
		recurrent.Elman(p, h, in[0], in[1], last, c.batch, d)
		for b := range c.batch {
			copy(last[b*d:(b+1)*d], h[(b*n+n-1)*d:])
		}
	}
}
