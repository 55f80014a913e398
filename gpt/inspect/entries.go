package inspect

import (
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pkg/errors"
)

// Entries selects the numbers of an activation that an intervention changes; the others stay the same to the bit. Its
// methods return functions for Replace.
type Entries struct {
	context, heads int // T, H
	head           int // −1 means all
	from, to       int // range of tokens of every sequence
}

// All returns all entries of any activation of a model.
func All(m *gpt.Model) Entries {
	if m == nil {
		return Entries{}
	}
	return Entries{m.Config.BlockSize, m.Config.NHead, -1, 0, m.Config.BlockSize}
}

// Head returns the entries of e that belong to head h, counted from 0, of q, k, v, scores, weights or heads. In a
// matrix these are one H-th of the columns.
func (e Entries) Head(h int) Entries {
	e.head = h
	if h < 0 {
		e.head = e.heads // refused when it is used
	}
	return e
}

// Tokens returns the entries of e that belong to the tokens from … to−1 of every sequence, as queries if the activation
// has queries and keys.
func (e Entries) Tokens(from, to int) Entries { e.from, e.to = from, to; return e }

// check returns an error if the shape has no such entries.
func (e Entries) check(shape []int) error {
	switch n := len(shape); {
	case e.context < 1 || n != 2 && n != 4:
		return errors.Errorf("entries: got shape %v, want a matrix or (B, H, T, features), of a model", shape)
	case e.from < 0 || e.from >= e.to || e.to > e.context:
		return errors.Errorf("tokens: got %d to %d, want some of 0 to %d", e.from, e.to, e.context)
	case e.head >= e.heads:
		return errors.Errorf("head: got %d, want one of 0 … %d", e.head, e.heads-1)
	case n == 4 && (shape[1] != e.heads || shape[2] != e.context) &&
		e != (Entries{e.context, e.heads, -1, 0, e.context}):
		return errors.Errorf("entries: got shape %v, want %d heads and %d tokens to select from",
			shape, e.heads, e.context)
	case e.head >= 0 && shape[1]%e.heads != 0:
		return errors.Errorf("head: got %d columns, which %d heads do not divide", shape[1], e.heads)
	}
	return nil
}

// has reports whether e contains entry i.
func (e Entries) has(shape []int, i int) bool {
	width := shape[len(shape)-1]
	token, head := i/width, 0
	if len(shape) == 2 {
		token, head = token%e.context, i%width/max(1, width/e.heads)
	} else {
		token, head = token%shape[2], token/shape[2]%shape[1]
	}
	all := e.from == 0 && e.to == e.context
	return (all || e.from <= token && token < e.to) && (e.head < 0 || head == e.head)
}

func product(shape []int) int {
	n := 1
	for _, size := range shape {
		n *= size
	}
	return n
}
