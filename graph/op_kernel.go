package graph

import G "gorgonia.org/gorgonia"

// The kernel of an equation is a function X(…) (y Expr, ok bool) in op_x.go. A layer tries it first and computes its
// equation if ok is false:
//
//	if y, ok := graph.X(…); ok {
//		return y
//	}

// kernel returns the operation of a kernel on x and with. If kernels may not replace equations, in the entire Graph or
// at x's scope, ok is false.
func (x Expr) kernel(name string, make func() (*G.Node, error), with ...Expr) (y Expr, ok bool) {
	if x.g == nil || !x.g.Kernels || x.g.places.equations[x.scope] {
		return Expr{}, false
	}
	return x.apply(name, make, with...), true
}

// present returns the expressions that are not empty.
func present(optional ...Expr) (list []Expr) {
	for _, x := range optional {
		if x.g != nil {
			list = append(list, x)
		}
	}
	return list
}

func nodes(list ...Expr) G.Nodes {
	n := make(G.Nodes, len(list))
	for i, x := range list {
		n[i] = x.node
	}
	return n
}
