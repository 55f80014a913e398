package graph

import (
	"fmt"
	"strings"

	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Expr is a symbolic value: a parameter, an input, or what an operation makes of others. Its methods build nodes of the
// graph and compute nothing. When building has failed, every Expr is empty and every method passes that on.
type Expr struct {
	g     *Graph
	scope string
	node  *G.Node

	name  string        // of a parameter or input
	dense *tensor.Dense // its numbers
	shape []int         // its shape to the outside
	ids   *idRange      // of integers
}

type idRange struct {
	limit, ignore int
	looked        bool // a row is looked up for every id, and the ignored one has none
}

// check says whether ids below the limit fit n rows or classes.
func (r *idRange) check(n int, what string) error {
	switch {
	case r == nil:
		return errors.New("integers declared by Ints are needed")
	case r.limit > n:
		return errors.Errorf("ids up to %d for %d %s", r.limit-1, n, what)
	}
	return nil
}

// Graph is the graph that x belongs to.
func (x Expr) Graph() *Graph { return x.g }

// Name is the full name of a parameter or input, "" for anything else.
func (x Expr) Name() string { return x.name }

// Shape is the shape as the graph holds it; nil after a failure, so a layer takes its sizes from its own fields.
func (x Expr) Shape() []int {
	if x.node == nil {
		return nil
	}
	return x.node.Shape().Clone()
}

// Node is the Gorgonia node, for operations that this package does not offer; nil after a failure. Wrap brings the
// result back.
func (x Expr) Node() *G.Node { return x.node }

// Wrap makes an Expr of a Gorgonia node of x's graph, or of the error in making it, under x's scope.
func (x Expr) Wrap(node *G.Node, err error) Expr {
	return x.try("wrap", func() (*G.Node, error) { return node, err })
}

// Tensor is the numbers of a parameter or input, to read and to write; empty for anything else.
func (x Expr) Tensor() Tensor {
	if x.dense == nil {
		return Tensor{}
	}
	t := view(x.dense)
	t.Shape = x.shape
	return t
}

// Ints is the backing of an input declared by Scope.Ints, to be overwritten in place; nil for anything else.
func (x Expr) Ints() []int {
	if x.ids == nil {
		return nil
	}
	return x.dense.Ints()
}

// In says that what is computed from x from here on belongs to the layer at s: errors and pictures name it.
func (x Expr) In(s Scope) Expr {
	if x.g == nil {
		x.g = s.g
	}
	x.scope = s.path
	if _, seen := x.g.entered[s.path]; !seen && x.node != nil {
		x.g.entered[s.path] = x
	}
	return x
}

// apply makes the node of an operation on x and others.
func (x Expr) apply(op string, make func() (*G.Node, error), with ...Expr) Expr {
	return x.try(op, func() (*G.Node, error) {
		node, err := make()
		if err == nil && x.g.merged(node, append([]Expr{x}, with...)) {
			err = ErrCollision
		}
		return node, err
	}, with...)
}

// try is the only place where an operation can fail: errors stick to the graph, Gorgonia's panics become errors.
func (x Expr) try(op string, make func() (*G.Node, error), with ...Expr) (y Expr) {
	operands := append([]Expr{x}, with...)
	for _, e := range with { // an empty receiver has no graph to tell
		if x.g == nil {
			x.g, x.scope = e.g, e.scope
		}
	}
	y = Expr{g: x.g, scope: x.scope}
	if x.g == nil || x.g.err != nil {
		return y
	}
	for _, e := range operands {
		if e.node == nil || e.g != x.g {
			x.g.fail(x.scope, "%s %s: an operand is empty or of another graph", op, describe(operands))
			return y
		}
	}
	building.Lock()
	defer building.Unlock()
	defer func() {
		if r := recover(); r != nil {
			x.g.fail(x.scope, "%s %s: %v", op, describe(operands), r)
			y.node = nil
		}
	}()
	node, err := make()
	if err != nil {
		x.g.err = errors.Wrapf(errors.Cause(err), "%s%s %s", prefix(x.scope), op, describe(operands))
		return y
	}
	if _, seen := x.g.origin[node.ID()]; !seen {
		x.g.origin[node.ID()] = origin{x.scope, op}
	}
	y.node = node
	return y
}

// merged says whether node is one of other operands: Gorgonia takes two stock operations of the same kind, shape and
// 32-bit hash for one, and returns the first for the second.
func (g *Graph) merged(node *G.Node, operands []Expr) bool {
	missing := map[*G.Node]bool{}
	for _, e := range operands {
		missing[e.node] = true
	}
	seen, foreign := map[*G.Node]bool{}, false
	var visit func(n *G.Node)
	visit = func(n *G.Node) {
		switch at, known := g.origin[n.ID()]; {
		case seen[n]:
			return
		case missing[n]:
			delete(missing, n)
			seen[n] = true
			return
		case known && at.leaf():
			foreign = true
		}
		seen[n] = true
		for it := g.g.From(n.ID()); it.Next(); {
			visit(it.Node().(*G.Node))
		}
	}
	visit(node)
	return foreign || len(missing) > 0
}

func describe(operands []Expr) string {
	parts := make([]string, len(operands))
	for i, e := range operands {
		shape := "()"
		if e.shape != nil {
			shape = fmt.Sprint(tensor.Shape(e.shape))
		} else if e.node != nil {
			shape = fmt.Sprint(e.node.Shape())
		}
		if parts[i] = shape; e.name != "" {
			parts[i] = e.name + " " + shape
		}
	}
	return strings.Join(parts, ", ")
}

type binary func(a, b *G.Node) (*G.Node, error)
type broadcast func(a, b *G.Node, left, right []byte) (*G.Node, error)

// pointwise combines two expressions entry by entry. Axes of size 1 stretch, and missing leading axes are added, as in
// NumPy; Gorgonia wants the axes listed.
func (x Expr) pointwise(name string, same binary, stretch broadcast, y Expr) Expr {
	return x.apply(name, func() (*G.Node, error) {
		a, b := x.node.Shape(), y.node.Shape()
		if a.Eq(b) {
			return same(x.node, y.node)
		}
		if len(b) > len(a) {
			return nil, errors.New("shapes differ and do not broadcast")
		}
		lead := len(a) - len(b)
		var left, right []byte
		for i, n := range a {
			switch {
			case i < lead:
				right = append(right, byte(i))
			case n == b[i-lead]:
			case n == 1:
				left = append(left, byte(i))
			case b[i-lead] == 1:
				right = append(right, byte(i))
			default:
				return nil, errors.New("shapes differ and do not broadcast")
			}
		}
		return stretch(x.node, y.node, left, right)
	}, y)
}

// Add is x + y.
func (x Expr) Add(y Expr) Expr {
	if x.g != nil && x.g.Kernels && x.node != nil && y.node != nil && x.node.Shape().Eq(y.node.Shape()) {
		return x.addKernel(y)
	}
	return x.pointwise("add", G.Add, G.BroadcastAdd, y)
}

// Sub is x − y.
func (x Expr) Sub(y Expr) Expr { return x.pointwise("sub", G.Sub, G.BroadcastSub, y) }

// Mul is x ∘ y, entry by entry.
func (x Expr) Mul(y Expr) Expr { return x.pointwise("mul", G.HadamardProd, G.BroadcastHadamardProd, y) }

// Div is x / y, entry by entry.
func (x Expr) Div(y Expr) Expr { return x.pointwise("div", G.HadamardDiv, G.BroadcastHadamardDiv, y) }

func (x Expr) constant(c float64) *G.Node {
	if x.g.dtype == Float32 {
		return G.NewConstant(float32(c))
	}
	return G.NewConstant(c)
}

// Scale is c·x.
func (x Expr) Scale(c float64) Expr {
	return x.apply(fmt.Sprintf("scale by %.4g", c), func() (*G.Node, error) { return G.HadamardProd(x.node, x.constant(c)) })
}

// Shift is x + c.
func (x Expr) Shift(c float64) Expr {
	return x.apply(fmt.Sprintf("shift by %.4g", c), func() (*G.Node, error) { return G.Add(x.node, x.constant(c)) })
}

func (x Expr) unary(name string, f func(*G.Node) (*G.Node, error)) Expr {
	return x.apply(name, func() (*G.Node, error) { return f(x.node) })
}

// Square is x², entry by entry.
func (x Expr) Square() Expr { return x.unary("square", G.Square) }

// Sqrt is √x.
func (x Expr) Sqrt() Expr { return x.unary("sqrt", G.Sqrt) }

// Exp is eˣ.
func (x Expr) Exp() Expr { return x.unary("exp", G.Exp) }

// Log is ln x.
func (x Expr) Log() Expr { return x.unary("log", G.Log) }

// Tanh is tanh x.
func (x Expr) Tanh() Expr { return x.unary("tanh", G.Tanh) }

// Cube is x³.
func (x Expr) Cube() Expr { return x.unary("cube", G.Cube) }

// ReLU is max(x, 0), with derivative 0 at 0.
func (x Expr) ReLU() Expr { return x.unary("relu", G.Rectify) }

// MatMul is the matrix product x·y: (n, k)·(k, m) → (n, m), or the same for every matrix of two batches of equal shape.
func (x Expr) MatMul(y Expr) Expr { return x.product("matmul", y, false) }

// MatMulT is x·yᵀ: (n, k)·(m, k) → (n, m), also in batches.
func (x Expr) MatMulT(y Expr) Expr { return x.product("matmulT", y, true) }

func (x Expr) product(name string, y Expr, transY bool) Expr {
	z := x.apply(name, func() (*G.Node, error) {
		a, b := x.node.Shape(), y.node.Shape()
		rank := len(a)
		if rank < 2 || len(b) != rank || !a[:rank-2].Eq(b[:rank-2]) {
			return nil, errors.New("matrices, or batches of equally many, are needed")
		}
		inner := b[rank-2]
		if transY {
			inner = b[rank-1]
		}
		if a[rank-1] != inner {
			return nil, errors.Errorf("inner sizes %d and %d differ", a[rank-1], inner)
		}
		switch {
		case rank > 2:
			return G.BatchedMatMul(x.node, y.node, false, transY)
		case transY:
			return matMulT(x.node, y.node)
		}
		return G.Mul(x.node, y.node)
	}, y)
	return z
}

// matMulT transposes first: stock Mul has no transposed form.
func matMulT(a, b *G.Node) (*G.Node, error) {
	bt, err := G.Transpose(b, 1, 0)
	if err != nil {
		return nil, err
	}
	return G.Mul(a, bt)
}

// Transpose reorders the axes.
func (x Expr) Transpose(axes ...int) Expr {
	return x.apply("transpose", func() (*G.Node, error) { return G.Transpose(x.node, axes...) })
}

// Sum adds over the last axis and keeps it with size 1: (n, d) → (n, 1).
func (x Expr) Sum() Expr {
	return x.apply("sum", func() (*G.Node, error) { return x.g.sumLast(x.node) })
}

func (g *Graph) sumLast(n *G.Node) (*G.Node, error) {
	shape := n.Shape().Clone()
	last := len(shape) - 1
	if last < 0 {
		return nil, errors.New("a scalar has no last axis")
	}
	sum, err := G.Sum(n, last)
	if err != nil {
		return nil, err
	}
	shape[last] = 1
	return g.reshape(sum, shape)
}

// Mean is Sum divided by the size of the last axis: (n, d) → (n, 1).
func (x Expr) Mean() Expr {
	return x.apply("mean", func() (*G.Node, error) {
		sum, err := x.g.sumLast(x.node)
		if err != nil {
			return nil, err
		}
		shape := x.node.Shape()
		return G.HadamardProd(sum, x.constant(1/float64(shape[len(shape)-1])))
	})
}

// SumAll is the sum of all entries, a scalar.
func (x Expr) SumAll() Expr {
	return x.unary("sum of all", func(n *G.Node) (*G.Node, error) { return G.Sum(n) })
}

// Softmax is e^(x−max) / Σ e^(x−max) over the last axis. The maximum only keeps the exponentials in range; the result
// does not depend on it, so it takes no part in differentiation.
func (x Expr) Softmax() Expr {
	e := x.Sub(x.RowMax()).Exp()
	return e.Div(e.Sum())
}

// LogSumExp is ln Σ eˣ over the last axis: (n, d) → (n, 1).
func (x Expr) LogSumExp() Expr {
	top := x.RowMax()
	return x.Sub(top).Exp().Sum().Log().Add(top)
}

// Rows selects row ids[i] of x as row i: (v, d), (n) → (n, d). Its gradient adds up over equal ids.
func (x Expr) Rows(ids Expr) Expr {
	return x.apply("rows", func() (*G.Node, error) {
		if err := ids.ids.check(x.node.Shape()[0], "rows"); err != nil {
			return nil, err
		}
		ids.ids.looked = true
		return G.ByIndices(x.node, ids.node, 0)
	}, ids)
}
