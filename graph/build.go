package graph

import (
	"maps"

	"github.com/pkg/errors"
)

// errCollision means that two different nodes of a graph have the same 32-bit hash, which Gorgonia takes for equality:
// it would compute one of them only.
var errCollision = errors.New("two nodes of the graph share a hash")

// Build calls build with an empty Graph, as New makes it, and returns that Graph: build sets its switches, declares and
// compiles. In the rare case that two nodes share a hash, which Gorgonia cannot tell apart, build is called again with
// a Sibling whose nodes have other hashes: what build keeps of an earlier call it has to overwrite. A panic in
// build is an error that names the layer which was entered last. The first error in building the Graph is returned even
// if build returns nil.
func Build(dtype Dtype, seed uint64, build func(g *Graph) error) (*Graph, error) {
	return New(dtype, seed).build(build)
}

// BuildSibling is Build on a Sibling of g.
func (g *Graph) BuildSibling(build func(s *Graph) error) (*Graph, error) {
	return g.Sibling().build(build)
}

func (g *Graph) build(build func(g *Graph) error) (*Graph, error) {
	if build == nil {
		return g, errors.New("build: no function that builds")
	}
	const attempts = 8 // about one graph in ten thousand needs a second
	asked := g.places  // before build adds to it
	asked.edits, asked.spelt = maps.Clone(asked.edits), maps.Clone(asked.spelt)
	err := g.try(build)
	for range attempts - 1 {
		if !errors.Is(err, errCollision) {
			break
		}
		g = g.salted()
		g.places.edits, g.places.spelt = maps.Clone(asked.edits), maps.Clone(asked.spelt)
		err = g.try(build)
	}
	return g, err
}

// try calls build, and returns its error or that of the graph. A panic in it is an error that names the layer which was
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
	s.salt = g.salt + "'"
	return s
}
