package nn

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// check calls every Checker. It returns an error for random keys together with a rule that differs between heads: they
// are drawn once for all heads.
func (m *Mask) check() error {
	rules := rulesOf(m.given)
	for _, v := range rules {
		if v == nil {
			return errors.New("no Visibility: use Causal{}, or All{} if every token attends to every other one")
		}
		if err := checkSizes(v, m.dims); err != nil {
			return err
		}
	}
	if n := randomKeys(rules); n > 0 && slices.ContainsFunc(rules, perHead) {
		return errors.Errorf("%d random keys, drawn once for all heads, with a mask that differs between heads", n)
	}
	return checkSizes(m.bias, m.dims)
}

func checkSizes(v any, d Dims) error {
	if c, ok := v.(Checker); ok {
		return c.Check(d)
	}
	return nil
}

// checkEmptyRows returns an error if a query has no visible key.
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

// requireCausal fails at s if a query attends to a later key, which does not exist yet when tokens come one at a time.
func (t *table) requireCausal(s graph.Scope) {
	if !t.scanned {
		t.scanned, t.later = true, t.laterToken()
	}
	if query, key := t.later[0], t.later[1]; key > query {
		s.Failf("one token at a time: query %d attends to the later key %d", query, key)
	}
}

// laterToken returns a query and the first later token with a visible key, or 0 twice.
func (t *table) laterToken() [2]int {
	hidden, numbers := math.Inf(-1), t.Expr().Tensor()
	if len(t.shape) == 0 || numbers.Len() == 0 {
		return [2]int{}
	}
	n := t.shape[len(t.shape)-2]
	keys := t.shape[len(t.shape)-1] / n // per token
	for row := range numbers.Len() / (n * keys) {
		for i, j := row%n, (row%n+1)*keys; j < n*keys; j++ {
			if numbers.At(row*n*keys+j) != hidden {
				return [2]int{i, j / keys}
			}
		}
	}
	return [2]int{}
}
