package nn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Make returns the layer that with makes for a site. That there is no such function, that it makes nothing, and a panic
// in it are errors of the site.
func Make(at Site, with func(Site) Layer) (l Layer) {
	switch {
	case with == nil:
		at.Failf("no layer: there is no function that makes it")
	case at.Try(func() { l = with(at) }) && l == nil:
		at.Failf("no layer: the function that makes it returns nil")
	}
	return l
}

// In returns the layer of that name in s as a function, whose result has the shape of x and is the activation at that
// place. A layer that is missing, that panics or that returns another shape is an error of the layer.
func In(s graph.Scope, name string, l Layer) func(x graph.Expr) graph.Expr {
	at := s.Sub("%s", name)
	return func(x graph.Expr) graph.Expr {
		return s.Place(name, shaped(at, x.Shape(), func() graph.Expr { return l.Forward(x) }))
	}
}

// HeadIn is In for a layer that makes the given number of columns of the rows of x.
func HeadIn(s graph.Scope, name string, l Layer, columns int) func(x graph.Expr) graph.Expr {
	at := s.Sub("%s", name)
	return func(x graph.Expr) graph.Expr {
		shape := slices.Clone(x.Shape())
		if len(shape) > 0 {
			shape[len(shape)-1] = columns
		}
		return s.Place(name, shaped(at, shape, func() graph.Expr { return l.Forward(x) }))
	}
}

// shaped is try of what has to have a shape.
func shaped(s graph.Scope, want []int, f func() graph.Expr) graph.Expr {
	y := try(s, f)
	if got := y.Shape(); got != nil && want != nil && !slices.Equal(got, want) {
		s.Failf("got shape %s, want %s", sizes(got), sizes(want))
	}
	return y
}

// sizes returns a shape as errors have it, such as "(16, 32)".
func sizes(shape []int) string {
	return "(" + strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ") + ")"
}

// try is what f gives, or the error of s that it panics with.
func try(s graph.Scope, f func() graph.Expr) (y graph.Expr) {
	if !s.Try(func() { y = f() }) {
		y = graph.Expr{}.In(s)
	}
	return y
}

// whole is deferred where a layer needs what only its constructor gives it: nil and a literal without it are errors.
func whole(l any, x graph.Expr, y *graph.Expr) {
	if r := recover(); r != nil {
		*y = x.Wrap(nil, errors.Errorf("%T, want one that its constructor made: %v", l, graph.Panicked(r)))
	}
}
