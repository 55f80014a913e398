package base

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Build builds on g, and again with other hashes in the rare case that two nodes share one: see graph.ErrCollision. The
// graphs share parameters.
func Build(g *graph.Graph, build func(*graph.Graph) error) error {
	err := build(g)
	for errors.Is(err, graph.ErrCollision) {
		g = g.Salted()
		err = build(g)
	}
	return err
}
