package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// table is a mask, whose rows are computed where they are read.
type table struct {
	scope      graph.Scope
	name       string
	shape      []int                               // empty in the zero table, which has no numbers
	prepare    func() error                        // called before rows are computed; after an error there are none
	row        func(i, from int, x graph.Tensor)   // writes row i from column from on
	span       func(i int) (from, to int, ok bool) // see graph.Spanned
	hidesLater func() bool                         // reports whether no query attends to a later key, if that is known
	stored     bool                                // the last Update has set the numbers
	expr       graph.Expr

	scanned bool   // later is up to date
	later   [2]int // a query and a later token with a visible key, or 0 twice
}

// tableRule is the graph.Spanned of a table.
type tableRule struct{ *table }

func (t tableRule) Row(i, from int, into graph.Tensor) { t.row(i, from, into) }

func (t tableRule) Span(i int) (from, to int, ok bool) {
	if t.span == nil {
		return 0, 0, false
	}
	return t.span(i)
}

// Expr returns the mask as a value of the graph. The first call declares and prepares it; attention that is linear in T
// never calls Expr.
func (t *table) Expr() graph.Expr {
	switch {
	case t.expr.Graph() != nil:
		return t.expr
	case len(t.shape) == 0: // building the mask failed, and the graph has its error
		return graph.Expr{}.In(t.scope)
	}
	if !t.scope.Graph().Outlined() && t.scope.Graph().Err() == nil {
		t.scope.Sub("%s", t.name).Try(func() {
			err := t.prepare()
			if t.fail(err); err == nil { // a panic of a user-defined rule or bias is an error here rather than in a run
				t.row(0, 0, graph.Tensor{F64: make([]float64, t.shape[len(t.shape)-1])})
			}
		})
	}
	t.expr = t.scope.Rule(t.name, graph.Spanned(tableRule{t}), t.shape...)
	if t.stored {
		t.expr.Tensor()
	}
	return t.expr
}

var errUnbuilt = errors.New("the mask was not built by its constructor")

// Update computes the numbers again after lengths have changed. An error leaves them unchanged.
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
	t.expr.Refresh()
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
	if len(t.shape) == 0 || t.hidesLater != nil && t.hidesLater() || t.Expr().Graph().Outlined() {
		return [2]int{}
	}
	n := t.shape[len(t.shape)-2]
	width := t.shape[len(t.shape)-1]
	keys, rows := width/n, 1 // keys of a token, rows of all matrices
	for _, size := range t.shape[:len(t.shape)-1] {
		rows *= size
	}
	hidden, numbers := math.Inf(-1), make([]float64, width)
	for row := range rows {
		i := row % n
		rest := graph.Tensor{F64: numbers[(i+1)*keys:]}
		t.row(row, (i+1)*keys, rest)
		for j, v := range rest.F64 {
			if v != hidden {
				return [2]int{i, i + 1 + j/keys}
			}
		}
	}
	return [2]int{}
}
