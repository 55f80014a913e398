package nn

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// build makes the layer of a site. That there is nothing to make one with, that nothing is made, and a panic are errors
// of the site.
func build(at Site, with func(Site) Layer) (l Layer) {
	defer func() {
		if r := recover(); r != nil {
			at.Failf("panic: %v", r)
		}
		if l == nil {
			l = unmade{}
		}
	}()
	if with == nil {
		at.Failf("no layer: there is no function that makes it")
		return nil
	}
	if l = with(at); l == nil {
		at.Failf("no layer: the function that makes it returns nil")
	}
	return l
}

// unmade stands in for a layer that could not be made.
type unmade struct{}

func (unmade) Forward(x graph.Expr) graph.Expr { return x }

// in is the layer of that name in s, as a function. That there is none, and a panic in it, are errors of the layer.
func in(s graph.Scope, name string, l Layer) func(x graph.Expr) graph.Expr {
	return func(x graph.Expr) (y graph.Expr) {
		defer caught(s.Sub("%s", name), &y)
		return l.Forward(x)
	}
}

// caught is deferred where a layer works that may be the user's.
func caught(s graph.Scope, y *graph.Expr) {
	if r := recover(); r != nil {
		s.Failf("panic: %v", r)
		*y = graph.Expr{}.In(s)
	}
}

// whole is deferred where a layer needs what only its constructor gives it: a literal without is an error.
func whole(l Layer, x graph.Expr, y *graph.Expr) {
	if r := recover(); r != nil {
		*y = x.Wrap(nil, errors.Errorf("%T, as its constructor makes it? %v", l, r))
	}
}
