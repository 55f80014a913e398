package graph

import (
	"maps"

	"github.com/pkg/errors"
)

// Build calls build with an empty Graph, as returned by New, and returns that Graph. The function build sets the
// switches, declares parameters and compiles. In the rare case that two nodes share a hash, so that Gorgonia cannot
// tell them apart, Build calls build again with a Sibling whose nodes have other hashes. So build must overwrite
// everything it kept from an earlier call. A panic in build becomes an error that names the layer entered last. Build
// returns the first error in building the Graph even if build returns nil.
func Build(dtype Dtype, seed uint64, build func(g *Graph) error) (*Graph, error) {
	return New(dtype, seed).build(build)
}

// BuildSibling calls Build on a Sibling of g.
func (g *Graph) BuildSibling(build func(s *Graph) error) (*Graph, error) {
	return g.Sibling().build(build)
}

func (g *Graph) build(build func(g *Graph) error) (*Graph, error) {
	if build == nil {
		return g, errors.New("build: the function is nil")
	}
	const attempts = 8  // about one graph in ten thousand needs a second attempt
	initial := g.places // before build adds to it
	initial.edits, initial.equations = maps.Clone(initial.edits), maps.Clone(initial.equations)
	err := g.try(build)
	for range attempts - 1 {
		if !errors.Is(err, errCollision) {
			break
		}
		g = g.salted()
		g.places.edits, g.places.equations = maps.Clone(initial.edits), maps.Clone(initial.equations)
		err = g.try(build)
	}
	return g, err
}

// try calls build and returns its error or the graph's. A panic in it becomes an error that names the layer
// entered last.
func (g *Graph) try(build func(g *Graph) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			g.fail(g.entered, "%v", Panicked(r))
			err = g.err
		}
	}()
	if err := build(g); err != nil {
		return err
	}
	return g.Err()
}

// salted returns a Sibling whose nodes have other hashes.
func (g *Graph) salted() *Graph {
	s := g.Sibling()
	s.ops.Salt = g.ops.Salt + "'"
	return s
}
