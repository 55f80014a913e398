package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// onlyPast fails at s if a query sees a key behind it, which is not there yet when tokens come one at a time.
func (m *Mask) onlyPast(s graph.Scope) {
	if !m.scanned {
		m.scanned, m.later = true, m.sight()
	}
	if query, key := m.later[0], m.later[1]; key > query {
		s.Failf("one token at a time: query %d sees the later key %d", query, key)
	}
}

// sight is a query and the first later key that it sees, or 0 twice.
func (m *Mask) sight() [2]int {
	hidden, numbers, t := math.Inf(-1), m.Expr().Tensor(), m.dims.Context
	for row := range numbers.Len() / max(t, 1) {
		for i, j := row%t, row%t+1; j < t; j++ {
			if numbers.At(row*t+j) != hidden {
				return [2]int{i, j}
			}
		}
	}
	return [2]int{}
}

// noBlindQuery looks for queries that see nothing.
func (m *Mask) noBlindQuery(see Visibility, heads int) error {
	for which := range m.batch * heads {
		head, b := which%heads, which/heads
	queries:
		for i := range m.dims.Context {
			for j := range m.dims.Context {
				if visibleTo(see, head, b, i, j) {
					continue queries
				}
			}
			if heads > 1 {
				return errors.Errorf("query %d of sequence %d sees no key in head %d", i, b, head)
			}
			return errors.Errorf("query %d of sequence %d sees no key", i, b)
		}
	}
	return nil
}
