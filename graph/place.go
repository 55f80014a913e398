package graph

import (
	"slices"
	"strings"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"
)

// places are the activations that layers name, and what is to be done with them.
type places struct {
	found map[string]Expr
	order []string // of found
	edits map[string][]func(Expr) Expr
	spelt map[string]bool // scopes where equations stand for kernels

	rows  Expr // what SetRows was given
	asked bool // by the edit that is made
	whole bool // an edit has not asked
}

// Place says that x is the activation of that name at s, for Activation, and returns it: the same x, unless Edit has
// something else go on in its place.
func (s Scope) Place(name string, x Expr) Expr {
	g, path := s.g, s.full(name)
	if !g.exists() || x.node == nil || x.g != g {
		return x
	}
	for _, edit := range g.places.edits[path] {
		y := Expr{}
		at := Scope{g, path}
		g.places.asked = false
		if at.Try(func() { y = edit(x.In(at)) }); g.err != nil {
			return Expr{g: g, scope: x.scope}
		}
		if y.node == nil || y.g != g || !slices.Equal(y.Shape(), x.Shape()) {
			got, want := tensor.Shape(y.Shape()), tensor.Shape(x.Shape())
			g.fail(path, "an edit gives shape %v, want %v, of the same graph", got, want)
			return Expr{g: g, scope: x.scope}
		}
		g.places.whole = g.places.whole || !g.places.asked
		y.scope = x.scope
		x = y
	}
	if _, seen := g.places.found[path]; !seen {
		g.places.order = append(g.places.order, path)
		g.places.found[path] = x
	}
	return x
}

// Edit has the layers that are built from here on, on g and its siblings, go on with what edit makes of the activation
// at a place, an expression of the same shape; of several edits each has the result of the one before.
func (g *Graph) Edit(place string, edit func(x Expr) Expr) {
	switch {
	case !g.exists():
	case edit == nil:
		g.fail(place, "no function to edit it")
	default:
		g.places.edits[place] = append(slices.Clip(g.places.edits[place]), edit)
	}
}

// Edited reports whether there are edits.
func (g *Graph) Edited() bool { return g != nil && len(g.places.edits) > 0 }

// SetRows says that the activations of the layers that are built from here on are of some tokens alone, as where a
// decoder takes the newest: row i is that of position positions[i] of its sequence.
func (g *Graph) SetRows(positions Expr) {
	if g.exists() {
		g.places.rows = positions
	}
}

// Rows is what SetRows was given; ok is false where activations are of whole contexts. An edit that asks can be of some
// tokens alone.
func (g *Graph) Rows() (positions Expr, ok bool) {
	if g == nil {
		return Expr{}, false
	}
	g.places.asked = true
	return g.places.rows, g.places.rows.g != nil
}

// EditedByRows reports whether all edits were made, where their activations are, by functions that ask for Rows.
func (g *Graph) EditedByRows() bool {
	if g == nil || g.err != nil || g.places.whole {
		return false
	}
	for place := range g.places.edits {
		if _, ok := g.places.found[place]; !ok {
			return false
		}
	}
	return true
}

// Spell has the layers at these scopes, and not those inside them, that are built from here on, on g and its siblings,
// compute their equations: kernels have none of the activations between.
func (g *Graph) Spell(scopes ...string) {
	if !g.exists() {
		return
	}
	for _, scope := range scopes {
		g.places.spelt[scope] = true
	}
}

// Activation is what Place was given at a place. An unknown one is an error that lists similar ones.
func (g *Graph) Activation(place string) (Expr, error) {
	if err := g.Err(); err != nil {
		return Expr{}, err
	}
	x, ok := g.places.found[place]
	if !ok {
		return Expr{}, errors.Errorf("no activation %q: %s", place, nearest(place, g.places.found))
	}
	return x, nil
}

// Places lists the activations that match any of the patterns, or all of them without patterns, in the order of the
// network. "*" is any name between two dots, or any number of a block: "h.*.attn" are the attentions of all blocks. A
// pattern that nothing matches is an error that lists similar places.
func (g *Graph) Places(patterns ...string) (names []string, err error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	if len(patterns) == 0 {
		return slices.Clone(g.places.order), nil
	}
	wanted := map[string]bool{}
	for _, pattern := range patterns {
		some := false
		for _, name := range g.places.order {
			if matches(pattern, name) {
				some, wanted[name] = true, true
			}
		}
		if !some {
			return nil, errors.Errorf("no activation %q: %s", pattern, nearest(pattern, g.places.found))
		}
	}
	return slices.DeleteFunc(slices.Clone(g.places.order), func(name string) bool { return !wanted[name] }), nil
}

func matches(pattern, name string) bool {
	want, got := strings.Split(pattern, "."), strings.Split(name, ".")
	return slices.EqualFunc(want, got, func(want, got string) bool { return want == "*" || want == got })
}
