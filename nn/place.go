package nn

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Make is the layer that with makes for a site. That there is no such function, that it makes nothing, and a panic in
// it are errors of the site.
func Make(at Site, with func(Site) Layer) (l Layer) {
	switch {
	case with == nil:
		at.Failf("no layer: there is no function that makes it")
	case at.Try(func() { l = with(at) }) && l == nil:
		at.Failf("no layer: the function that makes it returns nil")
	}
	return l
}

// In is the layer of that name in s, as a function, whose result is the activation at that place. That there is none, and
// a panic in it, are errors of the layer.
func In(s graph.Scope, name string, l Layer) func(x graph.Expr) graph.Expr {
	at := s.Sub("%s", name)
	return func(x graph.Expr) graph.Expr {
		return s.Place(name, try(at, func() graph.Expr { return l.Forward(x) }))
	}
}

// try is what f gives, or the error of s that it panics with.
func try(s graph.Scope, f func() graph.Expr) (y graph.Expr) {
	if !s.Try(func() { y = f() }) {
		y = graph.Expr{}.In(s)
	}
	return y
}

// whole is deferred where a layer needs what only its constructor gives it: a literal without is an error.
func whole(l Layer, x graph.Expr, y *graph.Expr) {
	if r := recover(); r != nil {
		*y = x.Wrap(nil, errors.Errorf("%T, as its constructor makes it? %v", l, r))
	}
}
