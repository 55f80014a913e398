package fused

import (
	"github.com/pedestrian-ml/pedestrian/graph"
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

// Divisible is a Cache whose sequences can take steps separately, as when texts begin and end independently of each
// other. All caches of this package are Divisible.
type Divisible interface {
	Cache
	// Keep forgets the tokens of a sequence after the first n. It returns ErrOrder if the cache cannot: a cache of a
	// state can only forget all of them, and a cache of a window can only go back a few tokens.
	Keep(sequence, n int) error
	// Select returns a cache for steps of some sequences, with the same memory: its sequence i is sequence rows[i] of
	// this one when the step runs. The caller may change rows between runs; they must differ. An operation of a
	// selection takes a position for each of its sequences.
	Select(rows []int) Cache
}

// ErrOrder is the error for a token that does not follow the tokens before it.
var ErrOrder = errors.New("tokens out of order")

// cachedTokens is a Cache with room for every token of a context, or for those to which a later one may attend.
type cachedTokens struct {
	lanes
	context int
	kept    int         // number of tokens of each sequence for which there is room
	width   int         // floats per token
	held    *ops.Tokens // nil before the first run
}

// newCachedTokens returns the cache of the tokens of a context, of batch sequences.
func newCachedTokens(batch, context, width int) cachedTokens {
	return cachedTokens{newLanes(batch), context, context, width, new(ops.Tokens)}
}

// lanes counts the tokens of the sequences of a cache.
type lanes struct {
	total  int         // number of sequences of the cache
	batch  int         // number of sequences that take a step
	rows   []int       // these sequences; nil: all, in their order
	tokens map[int]int // number of tokens so far, of every sequence that has any
}

func newLanes(batch int) lanes { return lanes{total: batch, batch: batch, tokens: map[int]int{}} }

// selected returns the lanes for steps of the sequences in rows.
func (l lanes) selected(rows []int) lanes { return lanes{l.total, len(rows), rows, l.tokens} }

// check returns an error unless the rows of a selection are different sequences of the cache.
func (l lanes) check() error {
	for i, row := range l.rows {
		if row < 0 || row >= l.total {
			return errors.Errorf("got sequence %d, the cache has %d", row, l.total)
		}
		for _, other := range l.rows[:i] {
			if row == other {
				return errors.Errorf("got sequence %d twice", row)
			}
		}
	}
	return nil
}

// each calls f with the sequences of a step and their positions, until an error.
func (l lanes) each(at []int, f func(row, at int) error) error {
	if err := l.check(); err != nil {
		return err
	}
	p := attention.Places{Rows: l.rows, At: at}
	for i := range l.batch {
		if err := f(p.Of(i)); err != nil {
			return err
		}
	}
	return nil
}

// checkPosition returns an error unless there is one position, or one for each sequence of a step.
func (l lanes) checkPosition(at graph.Expr) error {
	n := count(at)
	at.RequireIDs() // an ignored position is no position
	switch {
	case n == l.batch || n == 1 && l.rows == nil:
		return nil
	case l.rows == nil && l.batch != 1:
		return errors.Errorf("got %d positions, want 1, or one for each of %d sequences", n, l.batch)
	}
	return errors.Errorf("got %d positions, want %d", n, l.batch)
}

// Reset forgets all tokens.
func (c *cachedTokens) Reset() { clear(c.tokens) }

// Fork replaces sequence to by a copy of sequence from.
func (c *cachedTokens) Fork(from, to int) error {
	if err := checkFork(from, to, c.total); err != nil {
		return err
	}
	if c.held != nil && *c.held != nil {
		(*c.held).Fork(from, to, c.tokens[from])
	}
	c.tokens[to] = c.tokens[from]
	return nil
}

// Keep forgets the tokens of a sequence after the first n. It returns ErrOrder if those that the next token attends to
// are no longer there.
func (c *cachedTokens) Keep(sequence, n int) error {
	if err := c.checkKeep(sequence, n); err != nil {
		return err
	}
	if !c.holds(sequence, n) {
		return errors.Wrapf(ErrOrder, "keep %d of %d tokens, of which the cache has a window",
			n, c.tokens[sequence])
	}
	c.tokens[sequence] = n
	return nil
}

// holds reports whether a sequence can continue at a position.
func (c *cachedTokens) holds(sequence, position int) bool {
	return c.held == nil || *c.held == nil || (*c.held).Holds(sequence, position)
}

// Numbers returns the number of floats stored for a full context.
func (c *cachedTokens) Numbers() float64 {
	return float64(c.total) * float64(c.kept) * float64(c.width)
}

// Bytes returns the memory of a full context; 0 before the first run.
func (c *cachedTokens) Bytes() int {
	if c.held == nil || *c.held == nil {
		return 0
	}
	return (*c.held).Bytes()
}

// advance records n new tokens of every sequence of a step, the first of them at its position.
func (c *cachedTokens) advance(at []int, n int) error {
	return c.each(at, func(row, at int) error {
		if at < 0 || at+n > c.context {
			return errors.Errorf("tokens %d … %d of a context of %d", at, at+n-1, c.context)
		}
		if !c.holds(row, at) {
			return errors.Wrapf(ErrOrder, "position %d after %d tokens, of which the cache has a window",
				at, c.tokens[row])
		}
		c.tokens[row] = at + n
		return nil
	})
}

// step returns the step of n new tokens per sequence at the position at, with a mask of the given number of matrices.
func (c *cachedTokens) step(g *ops.Builder, at, mask graph.Expr, masks, n int) ops.Step {
	list := at.IDs()
	return ops.Step{
		At: list, Rows: c.rows, Masks: masks, Rule: g.Rule(mask.Operand()),
		Advance: func() error { return c.advance(list.List, n) },
	}
}

// checkRows returns an error unless the rows are the same number of new tokens for each sequence and fit the context,
// one mask serves all sequences, and the positions fit. It returns the number of masks: one, or one per head.
func (c *cachedTokens) checkRows(rows, heads int, mask, at graph.Expr) (masks int, err error) {
	if rows%c.batch != 0 || rows/c.batch > c.context {
		return 0, errors.Errorf("got %d tokens, want 1 … %d for each of %d sequences", rows, c.context, c.batch)
	}
	shape := attention.Shape{Batch: c.batch, Queries: c.context, Keys: c.context, Heads: heads}
	batch, masks, err := matrices(shape, mask.Operand().Shape())
	if err != nil {
		return 0, err
	}
	if batch > 1 {
		return 0, errors.Errorf("got a mask for every sequence, want one for all, (%d, %d)", c.context, c.context)
	}
	return masks, c.checkPosition(at)
}

func checkFork(from, to, batch int) error {
	if from < 0 || from >= batch || to < 0 || to >= batch {
		return errors.Errorf("fork: sequence %d to %d, the cache has %d", from, to, batch)
	}
	return nil
}

func (l lanes) checkKeep(sequence, n int) error {
	switch {
	case sequence < 0 || sequence >= l.total:
		return errors.Errorf("keep: sequence %d, the cache has %d", sequence, l.total)
	case n < 0 || n > l.tokens[sequence]:
		return errors.Errorf("keep: %d tokens of sequence %d, which has %d", n, sequence, l.tokens[sequence])
	}
	return nil
}
