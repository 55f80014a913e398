package nn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Make returns the layer that with builds for a site. It is an error of the site if with is nil, returns nil or panics.
func Make(at Site, with func(Site) Layer) (l Layer) {
	switch {
	case with == nil:
		at.Failf("no layer: the function that builds it is nil")
	case at.Try(func() { l = with(at) }) && l == nil:
		at.Failf("no layer: the function that builds it returns nil")
	}
	return l
}

// In returns the named layer in s as a function. The result of this function must have the shape of x and becomes the
// activation at that place. A layer that is missing, panics or returns another shape is an error of the layer.
func In(s graph.Scope, name string, l Layer) func(x graph.Expr) graph.Expr {
	at := s.Sub("%s", name)
	return func(x graph.Expr) graph.Expr {
		return s.Place(name, shaped(at, x.Shape(), func() graph.Expr { return l.Forward(x) }))
	}
}

// HeadIn is like In for a layer whose result has the rows of x and the given number of columns.
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

// shaped is like try, but requires a shape.
func shaped(s graph.Scope, want []int, f func() graph.Expr) graph.Expr {
	y := try(s, f)
	if got := y.Shape(); got != nil && want != nil && !slices.Equal(got, want) {
		s.Failf("got shape %s, want %s", sizes(got), sizes(want))
	}
	return y
}

// sizes formats a shape for errors, such as "(16, 32)".
func sizes(shape []int) string {
	return "(" + strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ") + ")"
}

// try returns the result of f. If f panics, the panic becomes an error of s.
func try(s graph.Scope, f func() graph.Expr) (y graph.Expr) {
	if !s.Try(func() { y = f() }) {
		y = graph.Expr{}.In(s)
	}
	return y
}

// recoverUnbuilt turns a panic of the layer l into an error in y. Methods that need fields set by the constructor defer
// it, so that calling them on nil or on a literal is an error.
func recoverUnbuilt(l any, x graph.Expr, y *graph.Expr) {
	if r := recover(); r != nil {
		*y = x.Wrap(nil, errors.Errorf("%T, want one built by its constructor: %v", l, graph.Panicked(r)))
	}
}
