package graph

import "github.com/pkg/errors"

// Outline returns a Graph that is only declared on: it notes the name and shape of every parameter, value and list of
// integers, and makes neither numbers nor nodes, so that a model of any size can be counted. What is declared has a
// Name and a Shape, and no Tensor; operations on it give empty expressions; compiling one is an error. Sizes of a shape
// have to be positive, and their product may be larger than any memory.
func Outline(dtype Dtype) *Graph {
	g := New(dtype, 0)
	g.outline = true
	return g
}

// Outlined says whether g is an Outline.
func (g *Graph) Outlined() bool { return g.outline }

// Leaves lists what has been declared, parameters and inputs, in the order of declaration.
func (g *Graph) Leaves() []Expr { return g.leaves }

var errOutline = errors.New("an outline: there are no numbers to compute with")

// note is what declares on an outline.
func (s Scope) note(full string, shape []int, trained bool) Expr {
	x := Expr{g: s.g, scope: s.path, name: full, shape: shape}
	for _, n := range shape {
		if n < 1 {
			s.g.fail(full, "shape %v: every size must be positive", shape)
			return Expr{g: s.g, scope: s.path}
		}
	}
	if !s.reserve(full) {
		return Expr{g: s.g, scope: s.path}
	}
	if trained {
		s.g.params = append(s.g.params, x)
	}
	return s.g.addLeaf(x)
}
