package fused

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
)

// cachedState is a Cache whose size does not depend on the number of tokens: it holds the sums or features from which a
// recurrence continues. Tokens come in order: position 0 forgets everything, any other position must be the number of
// tokens so far.
type cachedState struct {
	lanes
	held *ops.State
}

// newCachedState returns the cache of batch sequences, whose states have the given number of floats together.
func newCachedState(batch int, numbers float64) cachedState {
	return cachedState{newLanes(batch), &ops.State{Batch: batch, Size: int(numbers)}}
}

// floats returns the numbers of the state; a literal has none.
func (c *cachedState) floats() ops.State {
	if c.held == nil {
		return ops.State{}
	}
	return *c.held
}

// Reset forgets all tokens.
func (c *cachedState) Reset() {
	clear(c.tokens)
	clear(c.floats().F32)
	clear(c.floats().F64)
}

// Keep forgets all tokens of a sequence, or none: n is 0 or the number of tokens so far.
func (c *cachedState) Keep(sequence, n int) error {
	err := c.checkKeep(sequence, n)
	switch {
	case err != nil:
		return err
	case n == 0:
		c.begin(sequence)
	case n != c.tokens[sequence]:
		return errors.Wrapf(ErrOrder, "keep %d of the %d tokens of a state", n, c.tokens[sequence])
	}
	return nil
}

// begin forgets the tokens of a sequence.
func (c *cachedState) begin(row int) {
	c.tokens[row] = 0
	clear(sequence(c.held.F32, c.total, row))
	clear(sequence(c.held.F64, c.total, row))
}

// Fork replaces sequence to by a copy of sequence from.
func (c *cachedState) Fork(from, to int) error {
	if err := checkFork(from, to, c.total); err != nil {
		return err
	}
	copy(sequence(c.held.F32, c.total, to), sequence(c.held.F32, c.total, from))
	copy(sequence(c.held.F64, c.total, to), sequence(c.held.F64, c.total, from))
	c.tokens[to] = c.tokens[from]
	return nil
}

// sequence returns the numbers of sequence b in x, of batch sequences.
func sequence[T kernel.Float](x []T, batch, b int) []T {
	n := len(x) / batch
	return x[b*n : (b+1)*n]
}

// Numbers returns the number of floats stored, which does not depend on the number of tokens.
func (c *cachedState) Numbers() float64 { return float64(c.floats().Size) }

// Bytes returns the memory of the state; 0 before the first run.
func (c *cachedState) Bytes() int { return kernel.Bytes(c.floats().F32) + kernel.Bytes(c.floats().F64) }

// advance records n new tokens of every sequence of a step, the first of them at its position.
func (c *cachedState) advance(at []int, n int) error {
	return c.each(at, func(row, at int) error {
		if at == 0 {
			c.begin(row)
		}
		if at != c.tokens[row] {
			return errors.Wrapf(ErrOrder, "token %d, the next one is token %d", at, c.tokens[row])
		}
		c.tokens[row] += n
		return nil
	})
}

// step returns the step of n new tokens per sequence at the position at.
func (c *cachedState) step(at graph.Expr, n int) ops.Step {
	list := at.IDs()
	return ops.Step{At: list, Rows: c.rows, Advance: func() error { return c.advance(list.List, n) }}
}

// LinearCache holds, for one layer of causal linear attention, the sums of φ(k)ᵀ·v and of φ(k) of every head over the
// tokens so far. Its size does not depend on the number of tokens.
type LinearCache struct {
	shape LinearShape
	cachedState
}

// NewLinearCache returns the cache before the first token.
func NewLinearCache(h LinearShape) *LinearCache {
	numbers := float64(h.Batch) * float64(h.Heads) * float64(h.Map.phi.Size(h.QK)) * float64(h.V+1)
	return &LinearCache{h, newCachedState(h.Batch, numbers)}
}

// Select returns a cache for steps of some sequences.
func (c *LinearCache) Select(rows []int) Cache {
	if c == nil {
		return c
	}
	h, s := c.shape, c.cachedState
	h.Batch, s.lanes = len(rows), s.selected(rows)
	return &LinearCache{h, s}
}

// CachedLinearAttention returns the causal linear attention of n new tokens per sequence to themselves and to the
// tokens before them: (B·n, H(2·QK+V)) → (B·n, H·V). Its time does not depend on the number of earlier tokens. The
// input at is one integer, the position of the first new token. Sums cannot be undone, so at must be the number of
// tokens so far, or 0, which forgets everything; otherwise running fails with ErrOrder. CachedLinearAttention has no
// derivative and no reference: it equals rows at … at+n−1 of LinearAttention.
func CachedLinearAttention(qkv, at graph.Expr, cache *LinearCache) graph.Expr {
	return qkv.Operate("cached linear attention", func(g *ops.Builder) (*ops.Node, error) {
		if cache == nil {
			return nil, errors.New("no cache to keep sums in")
		}
		h, s := cache.shape, qkv.Operand().Shape()
		if err := h.checkGroups(); err != nil {
			return nil, err
		}
		if len(s) != 2 || s[1] != h.Width() || s[0]%h.Batch != 0 {
			return nil, errors.Errorf("%v is not (n·%d, %d), the packed projections of %+v",
				s, h.Batch, h.Width(), h.AttentionShape)
		}
		if err := cache.checkPosition(at); err != nil {
			return nil, err
		}
		h.Context = s[0] / h.Batch
		return g.CachedLinearAttention(h.linear(), cache.held, cache.step(at, h.Context), qkv.Operand())
	}, at)
}

// ElmanCache holds h of the last token, (B, d), for one recurrent layer.
type ElmanCache struct {
	width int
	cachedState
}

// NewElmanCache returns the cache before the first token, for batch sequences and width features.
func NewElmanCache(batch, width int) *ElmanCache {
	return &ElmanCache{width, newCachedState(batch, float64(batch)*float64(width))}
}

// Select returns a cache for steps of some sequences.
func (c *ElmanCache) Select(rows []int) Cache {
	if c == nil {
		return c
	}
	s := c.cachedState
	s.lanes = s.selected(rows)
	return &ElmanCache{c.width, s}
}

// CachedElman returns Elman for the newest tokens of every sequence, (B·n, d) → (B·n, d), continuing from the cache.
// The input at is one integer, the number of earlier tokens. At 0 the cache is reset; any other number must count the
// tokens so far, otherwise the run fails with ErrOrder. CachedElman has no derivative and no reference: it equals rows
// at … at+n−1 of Elman.
func CachedElman(a, w, at graph.Expr, cache *ElmanCache) graph.Expr {
	return a.Operate("cached elman", func(g *ops.Builder) (*ops.Node, error) {
		if cache == nil {
			return nil, errors.New("no cache to continue from")
		}
		if err := checkElman(a.Operand(), w.Operand(), cache.batch); err != nil {
			return nil, err
		}
		if d := a.Operand().Shape()[1]; d != cache.width {
			return nil, errors.Errorf("%d features, the cache has %d", d, cache.width)
		}
		if err := cache.checkPosition(at); err != nil {
			return nil, err
		}
		n := a.Operand().Shape()[0] / cache.batch
		return g.CachedElman(cache.batch, cache.held, cache.step(at, n), a.Operand(), w.Operand())
	}, w, at)
}

// ConvCache holds the last tokens, (B, taps−1, d), for one layer of causal convolutions.
type ConvCache struct {
	taps, width int
	cachedState
}

// NewConvCache returns the cache before the first token, for batch sequences, width features and taps weights of each.
func NewConvCache(batch, width, taps int) *ConvCache {
	return &ConvCache{taps, width, newCachedState(batch, float64(batch)*float64(taps-1)*float64(width))}
}

// Select returns a cache for steps of some sequences.
func (c *ConvCache) Select(rows []int) Cache {
	if c == nil {
		return c
	}
	s := c.cachedState
	s.lanes = s.selected(rows)
	return &ConvCache{c.taps, c.width, s}
}

// CachedConvolve returns Convolve for the newest tokens of every sequence, (B·n, d) → (B·n, d), continuing from the
// cache. The input at is as in CachedElman. CachedConvolve has no derivative and no reference: it equals rows at …
// at+n−1 of Convolve.
func CachedConvolve(x, w, at graph.Expr, cache *ConvCache) graph.Expr {
	return x.Operate("cached convolve", func(g *ops.Builder) (*ops.Node, error) {
		if cache == nil {
			return nil, errors.New("no cache to continue from")
		}
		taps, err := checkConvolve(x.Operand(), w.Operand())
		if err != nil {
			return nil, err
		}
		s := x.Operand().Shape()
		if taps != cache.taps || s[1] != cache.width {
			return nil, errors.Errorf("%d weights of %d features, the cache has %d of %d",
				taps, s[1], cache.taps, cache.width)
		}
		if s[0]%cache.batch != 0 {
			return nil, errors.Errorf("got %d tokens, want the same number for each of %d sequences", s[0], cache.batch)
		}
		if err := cache.checkPosition(at); err != nil {
			return nil, err
		}
		c := kernel.Convolution{Length: s[0] / cache.batch, Taps: taps}
		return g.CachedConvolve(cache.batch, c, cache.held, cache.step(at, c.Length), x.Operand(), w.Operand())
	}, w, at)
}
