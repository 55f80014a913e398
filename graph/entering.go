package graph

import "github.com/pkg/errors"

// In returns x for use in the layer at s: errors and pictures name that layer for everything computed from the result.
func (x Expr) In(s Scope) Expr {
	if x.g == nil {
		x.g = s.Graph()
	}
	x.g.pass(x, s.path)
	x.scope = s.path
	return x
}

// Entering returns the activation that enters the layer at a place: the first expression from outside that the layer,
// or one inside it, used. It is for inspection and for differentiating by it. If nothing entered the place, Entering
// returns an error that lists similar ones.
func (g *Graph) Entering(path string) (Expr, error) { return g.passing(path, true) }

// Leaving returns the activation that leaves the layer at a place: the first expression that another layer took from
// it. Otherwise it is like Entering.
func (g *Graph) Leaving(path string) (Expr, error) { return g.passing(path, false) }

func (g *Graph) passing(path string, in bool) (Expr, error) {
	if err := g.Err(); err != nil {
		return Expr{}, err
	}
	found, what := g.firstInput, "enters"
	if !in {
		found, what = g.firstOutput, "leaves"
	}
	if x, ok := found[path]; ok {
		return x, nil
	}
	return Expr{}, errors.Errorf("nothing %s %q: %s", what, path, nearest(path, found))
}

// pass records that x moves from its place to another one.
func (g *Graph) pass(x Expr, to string) {
	if g.exists() {
		g.entered = to
	}
	if x.node == nil {
		return
	}
	for path := to; path != "" && !within(x.scope, path); path = parent(path) {
		if _, seen := g.firstInput[path]; !seen {
			g.firstInput[path] = x
		}
	}
	for path := x.scope; path != "" && !within(to, path) && x.name == ""; path = parent(path) {
		if _, seen := g.firstOutput[path]; !seen {
			g.firstOutput[path] = x
		}
	}
}
