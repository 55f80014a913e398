package graph

import (
	"slices"
	"strings"

	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Place records x as the activation of the given name at s, for Activation, and returns it. If there are edits of this
// place, it returns their result instead.
func (s Scope) Place(name string, x Expr) Expr {
	g, path := s.g, s.full(name)
	if !g.exists() || x.node == nil || x.g != g {
		return x
	}
	for _, edit := range g.places.edits[path] {
		y, before := Expr{}, len(g.g.AllNodes())
		at := Scope{g, path}
		if at.Try(func() { y = edit(x.In(at)) }); g.err != nil {
			return Expr{g: g, scope: x.scope}
		}
		if y.node == nil || y.g != g || !slices.Equal(y.Shape(), x.Shape()) {
			got, want := tensor.Shape(y.Shape()), tensor.Shape(x.Shape())
			g.fail(path, "an edit returned shape %v, want %v, of the same graph", got, want)
			return Expr{g: g, scope: x.scope}
		}
		g.places.ignoredRows = g.places.ignoredRows || !g.readsRows(g.g.AllNodes()[before:])
		y.scope = x.scope
		x = y
	}
	g.places.record(path, x)
	return x
}

// record adds an activation, unless it exists already.
func (p *places) record(path string, x Expr) (first bool) {
	if _, seen := p.found[path]; seen {
		return false
	}
	p.order = append(p.order, path)
	p.found[path] = x
	return true
}

// Derive is like Place for an activation on which nothing else depends, such as the norm of a state. Activation calls
// of to compute it, so that it costs nothing otherwise. It is an error to edit such an activation.
func (s Scope) Derive(name string, of func() Expr) {
	g, path := s.g, s.full(name)
	switch {
	case !g.exists() || of == nil:
	case len(g.places.edits[path]) > 0:
		g.fail(path, "an edit of an activation on which nothing depends, which would change nothing")
	case g.places.record(path, Expr{}):
		g.places.derived[path] = of
	}
}

// Edit replaces the activation at a place by the result of edit, an expression of the same shape, in the layers built
// from here on, on g and its siblings. If a place has several edits, each receives the result of the previous one.
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

// SetRows declares that the activations of the layers built from here on belong to some tokens only, as in a decoder
// that computes the newest: row i belongs to position positions[i] of its sequence.
func (g *Graph) SetRows(positions Expr) {
	if g.exists() {
		g.places.rows = positions
	}
}

// Rows returns the argument of SetRows; ok is false if the activations cover entire contexts. An edit that computes its
// result from the rows can handle activations of some tokens only.
func (g *Graph) Rows() (positions Expr, ok bool) {
	if g == nil {
		return Expr{}, false
	}
	return g.places.rows, g.places.rows.g != nil
}

// readsRows reports whether one of the nodes is an operation on the rows.
func (g *Graph) readsRows(nodes G.Nodes) bool {
	rows := g.places.rows.node
	return rows != nil && slices.ContainsFunc(nodes, func(n *G.Node) bool {
		return slices.Contains(g.children(n), rows)
	})
}

// EditedByRows reports whether every edit has been applied, and every one of them has computed with the argument of
// SetRows.
func (g *Graph) EditedByRows() bool {
	if g == nil || g.err != nil || g.places.ignoredRows {
		return false
	}
	for place := range g.places.edits {
		if _, ok := g.places.found[place]; !ok {
			return false
		}
	}
	return true
}

// Spell makes the layers at these scopes compute their equations, because kernels do not compute the activations in
// between. It applies to layers built from here on, on g and its siblings, and not to layers inside those.
func (g *Graph) Spell(scopes ...string) {
	if !g.exists() {
		return
	}
	for _, scope := range scopes {
		g.places.equations[scope] = true
	}
}

// Activation returns the expression passed to Place at a place, or calls the function passed to Derive. For an unknown
// place it returns an error that lists similar ones.
func (g *Graph) Activation(place string) (Expr, error) {
	if err := g.Err(); err != nil {
		return Expr{}, err
	}
	x, ok := g.places.found[place]
	if !ok {
		return Expr{}, errors.Errorf("no activation %q: %s", place, nearest(place, g.places.found))
	}
	if of := g.places.derived[place]; of != nil {
		delete(g.places.derived, place)
		Scope{g, place}.Try(func() { x = of() })
		g.places.found[place] = x
	}
	return x, g.Err()
}

// Places lists the activations that match any of the patterns, or all of them without patterns, in the order of the
// network. "*" matches any name between two dots, or any number of a block: "h.*.attn" matches the attention of every
// block. If a pattern matches nothing, Places returns an error that lists similar places.
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
