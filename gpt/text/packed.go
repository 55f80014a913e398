package text

import (
	"math"
	"slices"

	"github.com/pkg/errors"
)

// packed is a Split in memory, with two or four bytes per token.
type packed[T uint16 | int32] []T

// Len returns the number of tokens.
func (p packed[T]) Len() int { return len(p) }

// Read copies and widens the tokens from position at on. A range outside 0 … Len is an error.
func (p packed[T]) Read(ids []int, at int) error {
	if err := within(len(ids), at, len(p)); err != nil {
		return err
	}
	for i, id := range p[at : at+len(ids)] {
		ids[i] = int(id)
	}
	return nil
}

// within returns an error if n tokens from position at on are not within 0 … all.
func within(n, at, all int) error {
	if at < 0 || at > all-n {
		return errors.Errorf("tokens: got %d from position %d on, want them within 0 … %d", n, at, all)
	}
	return nil
}

// pack stores ids in as few bytes as possible: ids of a vocabulary of up to 65,536 tokens in a quarter of a []int.
func pack(ids []int) Split {
	switch {
	// A user-defined tokenizer may return any id.
	case len(ids) == 0 || slices.Min(ids) < math.MinInt32 || slices.Max(ids) > math.MaxInt32:
		return Tokens(ids)
	case slices.Min(ids) >= 0 && slices.Max(ids) <= math.MaxUint16:
		return narrow[uint16](ids)
	}
	return narrow[int32](ids)
}

func narrow[T uint16 | int32](ids []int) packed[T] {
	p := make(packed[T], len(ids))
	for i, id := range ids {
		p[i] = T(id)
	}
	return p
}
