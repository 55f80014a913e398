package nn

import (
	"math/rand/v2"
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// table is the numbers that a mask adds to scores.
type table struct {
	scope   graph.Scope
	name    string
	shape   []int               // empty in the zero table, which has no numbers
	prepare func() error        // is called before at, once for every writing; its error says why there are no numbers
	score   func(i int) float64 // entry i
	expr    graph.Expr

	scanned bool   // since the numbers were written
	later   [2]int // a query and a token behind it that has a visible key, if there are any
}

// Expr returns the numbers as a value of the graph, declared, and prepared, when it is first asked for: attention that
// is linear in T never does.
func (t *table) Expr() graph.Expr {
	switch {
	case t.expr.Graph() != nil:
		return t.expr
	case len(t.shape) == 0: // it could not be made: with the error that says why
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

var errUnmade = errors.New("a mask that no constructor has made")

// Update writes the numbers again, after lengths have changed; an error leaves them as they are.
func (t *table) Update() (err error) {
	if t.prepare == nil {
		return errUnmade
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

// fail stops the graph where there is an error. An outline asks for the shape alone.
func (t *table) fail(err error) {
	if err != nil && !t.scope.Graph().Outlined() {
		t.scope.Sub("%s", t.name).Failf("%v", err)
	}
}
