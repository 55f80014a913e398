package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	"github.com/pkg/errors"
)

// Cache is what one layer of a decoder remembers of the tokens so far. Graphs for one new token and for several may
// share it; run one at a time. Its numbers are allocated by the first run.
type Cache interface {
	// Reset forgets all tokens.
	Reset()
	// Fork makes sequence to a copy of sequence from, as when two hypotheses of a beam search continue the same one. It
	// is an error, and nothing is copied, if there is no such sequence.
	Fork(from, to int) error
	// Numbers is how many are remembered of a full context.
	Numbers() float64
	// Bytes is the memory that they take; 0 before the first run.
	Bytes() int
}

// ErrOrder is the error of a token that does not follow the tokens before it.
var ErrOrder = errors.New("tokens out of order")

// cachedTokens is a Cache with room for every token of a context.
type cachedTokens struct {
	batch, context int
	width          int      // numbers of a token
	tokens         int      // of every sequence, so far
	held           sequence // nil before the first run
}

// sequence is the numbers of a Cache.
type sequence interface {
	Fork(from, to, tokens int)
	Bytes() int
}

// Reset forgets all tokens.
func (c *cachedTokens) Reset() { c.tokens = 0 }

// Fork makes sequence to a copy of sequence from.
func (c *cachedTokens) Fork(from, to int) error {
	if err := checkFork(from, to, c.batch); err != nil || c.held == nil {
		return err
	}
	c.held.Fork(from, to, c.tokens)
	return nil
}

// Numbers is how many are remembered of a full context.
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

// advance notes that every sequence gets n new tokens from position at on.
func (c *cachedTokens) advance(at, n int) error {
	if at < 0 || at+n > c.context {
		return errors.Errorf("tokens %d … %d of a context of %d", at, at+n-1, c.context)
	}
	c.tokens = at + n
	return nil
}

// checkRows reports whether as many new tokens for each sequence fit the context, one mask serves all sequences, and
// there is one position. It returns the number of masks: one, or one for each head.
func (c *cachedTokens) checkRows(rows, heads int, mask, at Expr) (masks int, err error) {
	if rows%c.batch != 0 || rows/c.batch > c.context {
		return 0, errors.Errorf("%d tokens are not 1 … %d for each of %d sequences", rows, c.context, c.batch)
	}
	shape := attention.Shape{Batch: c.batch, Queries: c.context, Keys: c.context, Heads: heads}
	batch, masks, err := matrices(shape, mask.node.Shape())
	if err != nil {
		return 0, err
	}
	if batch > 1 {
		return 0, errors.Errorf("a mask for every sequence: one for all, (%d, %d), is needed", c.context, c.context)
	}
	return masks, checkPosition(at)
}

// held returns the cache's numbers in type T, made when it is first asked for.
func held[C sequence](c *cachedTokens, make func() C) C {
	kept, ok := c.held.(C)
	if !ok {
		kept = make()
		c.held = kept
	}
	return kept
}

func checkFork(from, to, batch int) error {
	if from < 0 || from >= batch || to < 0 || to >= batch {
		return errors.Errorf("fork: sequence %d to %d, the cache has %d", from, to, batch)
	}
	return nil
}

func checkPosition(at Expr) error {
	if n := at.count(); n != 1 {
		return errors.Errorf("%d positions, 1 is needed", n)
	}
	at.ids.isLookup = true // an ignored position is no position
	return nil
}
