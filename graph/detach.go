package graph

import G "gorgonia.org/gorgonia"

// Detach is x, as a constant for differentiation: what is computed from it sends no gradient back to it.
func (x Expr) Detach() Expr {
	return x.apply("detach", func() (*G.Node, error) {
		return x.g.node(&op{
			name: "detach", shape: x.node.Shape().Clone(), wrt: []bool{false},
			f32: copyAll[float32], f64: copyAll[float64],
		}, x.node)
	})
}
