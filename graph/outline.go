package graph

// Outline returns a Graph of shapes alone. Declarations on it have a name and a shape but no numbers, so that the size
// of any model can be computed. Operations on it add nodes, so that PlanBytes returns the memory they would need.
// Tensors have no numbers, and compiling is an error. The sizes of a shape must be positive, and their product may
// exceed any memory.
func Outline(dtype Dtype) *Graph {
	g := New(dtype, 0)
	g.outline = true
	return g
}

// Outlined reports whether g is an Outline.
func (g *Graph) Outlined() bool { return g != nil && g.outline }
