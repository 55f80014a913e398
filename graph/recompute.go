package graph

import "github.com/pkg/errors"

// Recompute makes programs compiled from here on discard what the layers below each of the given places, such as "h.0",
// compute inside, and compute it again when the backward pass needs it: the same bits in less memory, for the time of a
// second forward pass. The results that leave a place are kept. So are the results of Gorgonia operations that may draw
// random numbers or have a state: these run once. Compile returns an error if nothing is computed in a place.
func (g *Graph) Recompute(scopes ...string) {
	if g != nil {
		g.recompute = scopes
	}
}

func (g *Graph) checkRecompute() error {
	for _, place := range g.recompute {
		if !g.computes(place) {
			return errors.Errorf("recompute: nothing is computed in %q: %s", place, nearest(place, g.firstInput))
		}
	}
	return nil
}

func (g *Graph) computes(place string) bool {
	for _, at := range g.source {
		if place != "" && !at.leaf() && within(at.scope, place) {
			return true
		}
	}
	return false
}
