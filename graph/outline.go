package graph

// Outline returns a Graph of shapes alone: what is declared on it has a name and a shape and no numbers, so that a
// model of any size can be counted, and operations on it make nodes, so that PlanBytes tells what it would need.
// Tensors have no numbers, and compiling is an error. Sizes of a shape have to be positive, and their product may be
// larger than any memory.
func Outline(dtype Dtype) *Graph {
	g := New(dtype, 0)
	g.outline = true
	return g
}

// Outlined reports whether g is an Outline, on which nothing has numbers.
func (g *Graph) Outlined() bool { return g != nil && g.outline }
