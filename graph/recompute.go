package graph

import "github.com/pkg/errors"

// Recompute asks programs compiled from here on to forget what the layers below each of the given places, such as
// "h.0", compute inside, and to compute it again when the backward pass comes there: the same bits in less memory, for
// the time of a second forward pass. What leaves a place is kept, and so is what an operation of Gorgonia's gives that
// may draw random numbers or have a state: it runs once. Compile refuses a place in which nothing is computed.
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
