package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
)

// cachedState is a Cache whose size does not depend on the number of tokens: it holds the sums or features from which a
// recurrence continues. Tokens come in order: position 0 forgets everything, any other position must be the number of
// tokens so far.
type cachedState struct {
	batch   int
	numbers float64   // number of floats of all sequences
	tokens  int       // number of tokens of every sequence so far
	f32     []float32 // one sequence after the other
	f64     []float64
}

// Reset forgets all tokens.
func (c *cachedState) Reset() {
	c.tokens = 0
	clear(c.f32)
	clear(c.f64)
}

// Fork replaces sequence to by a copy of sequence from.
func (c *cachedState) Fork(from, to int) error {
	if err := checkFork(from, to, c.batch); err != nil {
		return err
	}
	copySequence(c.f32, c.batch, from, to)
	copySequence(c.f64, c.batch, from, to)
	return nil
}

func copySequence[T kernel.Float](x []T, batch, from, to int) {
	n := len(x) / batch
	copy(x[to*n:(to+1)*n], x[from*n:])
}

// Numbers returns the number of floats stored, which does not depend on the number of tokens.
func (c *cachedState) Numbers() float64 { return c.numbers }

// Bytes returns the memory of the state; 0 before the first run.
func (c *cachedState) Bytes() int { return kernel.Bytes(c.f32) + kernel.Bytes(c.f64) }

// advance records n new tokens per sequence, the first at position at.
func (c *cachedState) advance(at, n int) error {
	if at == 0 {
		c.Reset()
	}
	if at != c.tokens {
		return errors.Wrapf(ErrOrder, "token %d, the next one is token %d", at, c.tokens)
	}
	c.tokens += n
	return nil
}

// stateOf returns the numbers of the state.
func stateOf[T kernel.Float](c *cachedState) []T {
	x, ok := any(&c.f32).(*[]T)
	if !ok {
		x = any(&c.f64).(*[]T)
	}
	if *x == nil {
		*x = kernel.Make[T](int(c.numbers))
	}
	return *x
}
