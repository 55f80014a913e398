package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
)

// Cache holds what one layer of a decoder needs of the tokens so far. Graphs for one new token and for several may
// share it, but only one may run at a time. Its memory is allocated by the first run.
type Cache interface {
	// Reset forgets all tokens.
	Reset()
	// Fork replaces sequence to by a copy of sequence from, as when two hypotheses of a beam search continue the same
	// one. If there is no such sequence, it returns an error and copies nothing.
	Fork(from, to int) error
	// Numbers returns the number of floats stored for a full context.
	Numbers() float64
	// Bytes returns the memory in use; 0 before the first run.
	Bytes() int
}

// ErrOrder is the error for a token that does not follow the tokens before it.
var ErrOrder = errors.New("tokens out of order")

// cachedTokens is a Cache with room for every token of a context.
type cachedTokens struct {
	batch, context int
	width          int        // floats per token
	tokens         int        // number of tokens of every sequence so far
	held           ops.Tokens // nil before the first run
}

// Reset forgets all tokens.
func (c *cachedTokens) Reset() { c.tokens = 0 }

// Fork replaces sequence to by a copy of sequence from.
func (c *cachedTokens) Fork(from, to int) error {
	if err := checkFork(from, to, c.batch); err != nil || c.held == nil {
		return err
	}
	c.held.Fork(from, to, c.tokens)
	return nil
}

// Numbers returns the number of floats stored for a full context.
func (c *cachedTokens) Numbers() float64 {
	return float64(c.batch) * float64(c.context) * float64(c.width)
}

// Bytes returns the memory of a full context; 0 before the first run.
func (c *cachedTokens) Bytes() int {
	if c.held == nil {
		return 0
	}
	return c.held.Bytes()
}

// advance records that every sequence gets n new tokens, the first at position at.
func (c *cachedTokens) advance(at, n int) error {
	if at < 0 || at+n > c.context {
		return errors.Errorf("tokens %d … %d of a context of %d", at, at+n-1, c.context)
	}
	c.tokens = at + n
	return nil
}

// step returns the step of n new tokens per sequence at the position at.
func (c *cachedTokens) step(at Expr, masks, n int) ops.Step {
	list := at.list()
	return ops.Step{At: list, Masks: masks, Advance: func() error { return c.advance(list.List[0], n) }}
}

// checkRows returns an error unless the rows are the same number of new tokens for each sequence and fit the context,
// one mask serves all sequences, and there is one position. It returns the number of masks: one, or one per head.
func (c *cachedTokens) checkRows(rows, heads int, mask, at Expr) (masks int, err error) {
	if rows%c.batch != 0 || rows/c.batch > c.context {
		return 0, errors.Errorf("got %d tokens, want 1 … %d for each of %d sequences", rows, c.context, c.batch)
	}
	shape := attention.Shape{Batch: c.batch, Queries: c.context, Keys: c.context, Heads: heads}
	batch, masks, err := matrices(shape, mask.node.Shape())
	if err != nil {
		return 0, err
	}
	if batch > 1 {
		return 0, errors.Errorf("got a mask for every sequence, want one for all, (%d, %d)", c.context, c.context)
	}
	return masks, checkPosition(at)
}

func checkFork(from, to, batch int) error {
	if from < 0 || from >= batch || to < 0 || to >= batch {
		return errors.Errorf("fork: sequence %d to %d, the cache has %d", from, to, batch)
	}
	return nil
}

func checkPosition(at Expr) error {
	if n := at.count(); n != 1 {
		return errors.Errorf("got %d positions, want 1", n)
	}
	at.neverIgnored() // an ignored position is no position
	return nil
}
