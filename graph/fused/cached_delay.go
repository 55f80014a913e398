package fused

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
)

// CachedDelay returns Delay for the newest tokens of every sequence, (B·n, d) → (B·n, d), by as many steps as the cache
// holds tokens: NewConvCache with steps+1 taps. The input at is as in CachedElman. CachedDelay has no derivative.
func CachedDelay(x, at graph.Expr, cache *ConvCache) graph.Expr {
	return x.Operate("cached delay", func(g *ops.Builder) (*ops.Node, error) {
		if s := x.Operand().Shape(); len(s) != 2 || cache != nil && s[1] != cache.width {
			return nil, errors.Errorf("got %v, want a matrix with the columns of the cache", s)
		}
		step, err := cache.delays(x.Operand().Shape()[0], at)
		if err != nil {
			return nil, err
		}
		return g.CachedDelay(cache.batch, cache.held, step, x.Operand())
	}, at)
}

// CachedDelayInts returns DelayInts for the newest tokens of every sequence, (B·n) → (B·n), with a cache of one column,
// as CachedDelay does. Ids must lie below 2^53.
func CachedDelayInts(ids, at graph.Expr, fill int, cache *ConvCache) graph.Expr {
	n, limit, _ := ids.Integers()
	limit = max(limit, fill+1)
	return ids.OperateInts("cached delay of integers", limit, func(g *ops.Builder, list []int) (*ops.Node, error) {
		if n == 0 {
			return nil, errors.New("want integers declared by Ints")
		}
		ids.RequireIDs()
		step, err := cache.delays(n, at)
		switch {
		case err != nil:
			return nil, err
		case fill < 0 || fill == math.MaxInt:
			return nil, errors.Errorf("got %d for the tokens before the first, want 0 to %d", fill, math.MaxInt-1)
		case cache.width != 1:
			return nil, errors.Errorf("got a cache of %d columns, want 1", cache.width)
		case int64(limit) > 1<<53:
			return nil, errors.Errorf("got ids up to %d, want at most 2^53 in a cache", limit-1)
		}
		return g.CachedDelayInts(cache.batch, cache.held, step, ids.IDs(), list, fill)
	}, at)
}

// delays returns the step of a delay of n rows, or an error if these are not the same number for each sequence.
func (c *ConvCache) delays(n int, at graph.Expr) (s ops.Step, err error) {
	switch {
	case c == nil:
		return s, errors.New("no cache to continue from")
	case n%c.batch != 0:
		return s, errors.Errorf("got %d tokens, want the same number for each of %d sequences", n, c.batch)
	}
	return c.step(at, n/c.batch), c.checkPosition(at)
}
