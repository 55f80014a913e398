package graph

import (
	"math"

	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// Outline returns a Graph of shapes alone. Declarations on it have a name and a shape but no numbers, so that the size
// of any model can be computed. Operations on it add nodes, so that PlanBytes returns the memory they would need.
// Tensors have no numbers, and compiling is an error. The sizes of a shape must be positive, and their product may
// exceed any memory.
func Outline(dtype Dtype) *Graph {
	g := New(dtype, 0)
	g.ops.Outline = true
	return g
}

// Outlined reports whether g is an Outline.
func (g *Graph) Outlined() bool { return g.exists() && g.ops.Outline }

// PlanBytes returns the memory that the graph would hold after Compile with the same arguments, without compiling:
// declared tensors, results, gradients, and everything in between. The expressions may belong to an Outline. The result
// is exact, with one exception: for an expression of more than 2^40 entries, or a total of more bytes than fit an int,
// it is the size of all expressions together.
func PlanBytes(out Expr, wrt ...Expr) (bytes float64, err error) {
	g := out.g
	switch {
	case g != nil && g.err != nil:
		return 0, g.err
	case out.node == nil:
		return 0, errors.New("nothing to plan: the expression is empty")
	}
	building.Lock()
	defer building.Unlock()
	defer func() {
		if r := recover(); r != nil {
			bytes, err = 0, errors.WithMessage(Panicked(r), "plan")
		}
	}()
	var grads G.Nodes
	if len(wrt) > 0 {
		if grads, err = differentiate(out, wrt); err != nil {
			return 0, err
		}
	}
	all, known := 0.0, true
	for _, n := range g.g.AllNodes() {
		if g.ops.Rule(n) != nil { // in g.held as far as it is stored
			continue
		}
		entries := entries(n.Shape())
		all, known = all+entries, known && fits(entries)
	}
	if !known || all > math.MaxInt/8 {
		return float64(g.ops.Dtype.Size()) * all, nil
	}
	_, ops, err := g.linked(append(G.Nodes{out.node}, grads...))
	return g.held + float64(g.memory.Need(ops)), err
}
