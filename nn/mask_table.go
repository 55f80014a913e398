package nn

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// table holds the numbers that a mask adds to scores.
type table struct {
	scope   graph.Scope
	name    string
	shape   []int               // empty in the zero table, which has no numbers
	prepare func() error        // called once before the numbers are written; an error means that there are none
	score   func(i int) float64 // entry i
	expr    graph.Expr

	scanned bool   // later is up to date
	later   [2]int // a query and a later token with a visible key, or 0 twice
}

// Expr returns the numbers as a value of the graph. The first call declares and prepares it; attention that is linear
// in T never calls Expr.
func (t *table) Expr() graph.Expr {
	switch {
	case t.expr.Graph() != nil:
		return t.expr
	case len(t.shape) == 0: // building the mask failed, and the graph has its error
		return graph.Expr{}.In(t.scope)
	}
	prepared := sync.OnceValue(func() error { // entries are written by several goroutines
		err := t.prepare()
		t.fail(err)
		return err
	})
	t.expr = t.scope.Value(t.name, func(i int, _ *rand.Rand) float64 {
		if prepared() != nil {
			return 0
		}
		return t.score(i)
	}, t.shape...)
	return t.expr
}

var errUnbuilt = errors.New("the mask was not built by its constructor")

// Update writes the numbers again after lengths have changed. An error leaves them unchanged.
func (t *table) Update() (err error) {
	if t.prepare == nil {
		return errUnbuilt
	}
	defer func() {
		if r := recover(); r != nil {
			err = errors.WithMessage(graph.Panicked(r), t.scope.Sub("%s", t.name).Path())
		}
	}()
	if err := t.prepare(); err != nil {
		return errors.Wrap(err, t.scope.Sub("%s", t.name).Path())
	}
	numbers := t.expr.Tensor()
	for i := range numbers.Len() {
		if err := numbers.Set(i, t.score(i)); err != nil {
			return err
		}
	}
	return nil
}

// fail stops the graph with an error. An outline needs only the shape and continues.
func (t *table) fail(err error) {
	if err != nil && !t.scope.Graph().Outlined() {
		t.scope.Sub("%s", t.name).Failf("%v", err)
	}
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
