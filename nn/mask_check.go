package nn

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// check asks every Checker, and refuses random keys beside what differs between heads: they are drawn once for all
// heads.
func (m *Mask) check() error {
	rules := rulesOf(m.given)
	for _, v := range rules {
		if v == nil {
			return errors.New("no Visibility: Causal{}, or All{} where every token attends to every other one")
		}
		if err := checkSizes(v, m.dims); err != nil {
			return err
		}
	}
	if n := randomKeys(rules); n > 0 && slices.ContainsFunc(rules, perHead) {
		return errors.Errorf("%d random keys, drawn once for all heads, beside a mask that differs between heads", n)
	}
	return checkSizes(m.bias, m.dims)
}

func checkSizes(v any, d Dims) error {
	if c, ok := v.(Checker); ok {
		return c.Check(d)
	}
	return nil
}

// checkEmptyRows looks for queries that have no visible key.
func (m *Mask) checkEmptyRows(rules []Visibility, heads int) error {
	for which := range m.batch * heads {
		head, b := which%heads, which/heads
		for i := range m.dims.Context {
			switch {
			case m.hasKey(rules, head, b, i):
			case heads > 1:
				return errors.Errorf("query %d of sequence %d attends to no key in head %d", i, b, head)
			default:
				return errors.Errorf("query %d of sequence %d attends to no key", i, b)
			}
		}
	}
	return nil
}

func (m *Mask) hasKey(rules []Visibility, head, b, i int) bool {
	for j := range m.dims.Context {
		if visible(rules, head, b, i, j) {
			return true
		}
	}
	return false
}

// requireCausal fails at s if a query attends to a key behind it, which is not there yet when tokens come one at a
// time.
func (m *Mask) requireCausal(s graph.Scope) {
	if !m.scanned {
		m.scanned, m.later = true, m.laterKey()
	}
	if query, key := m.later[0], m.later[1]; key > query {
		s.Failf("one token at a time: query %d attends to the later key %d", query, key)
	}
}

// laterKey is a query and the first visible key behind it, or 0 twice.
func (m *Mask) laterKey() [2]int {
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
