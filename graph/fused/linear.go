package fused

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
)

// Linear returns the kernel of y = x·w + b: (n, k)·(k, m) → (n, m). The bias b is optional: it may be empty.
func Linear(x, w, b graph.Expr) (y graph.Expr, ok bool) { return linear("linear", x, w, b, false) }

// LinearT returns the kernel of y = x·wᵀ: (n, k)·(m, k) → (n, m), such as the head tied to the token embedding.
func LinearT(x, w graph.Expr) (y graph.Expr, ok bool) {
	return linear("linearT", x, w, graph.Expr{}, true)
}

func linear(name string, x, w, b graph.Expr, transposed bool) (y graph.Expr, ok bool) {
	with := present(b)
	packed, _ := w.Weights(transposed)
	if packed == nil {
		with = append([]graph.Expr{w}, with...) // a packed weight is not an operand
	}
	return x.Kernel(name, func(g *ops.Builder) (*ops.Node, error) {
		in, out := w.Operand().Shape()[0], w.Operand().Shape()[1]
		if transposed {
			in, out = out, in
		}
		if got := x.Operand().Shape()[1]; got != in {
			return nil, errors.Errorf("%d features, the weight takes %d", got, in)
		}
		if b.Operand() != nil {
			if got := b.Operand().Shape().TotalSize(); got != out {
				return nil, errors.Errorf("a bias of %d for %d outputs", got, out)
			}
		}
		if packed != nil {
			return g.PackedLinear(x.Operand(), packed, b.Operand())
		}
		w.Multiplied(transposed)
		if transposed {
			return g.LinearT(x.Operand(), w.Operand())
		}
		return g.Linear(x.Operand(), w.Operand(), b.Operand())
	}, with...)
}

// Gather returns the kernel of Expr.Gather: row i of y is row ids[i] of table (v, d), and the gradient of the table
// adds up the rows of Δ over equal ids.
func Gather(table, ids graph.Expr) (y graph.Expr, ok bool) {
	if w, packed := table.Weights(true); packed { // it is not an operand
		return ids.Kernel("gather", func(g *ops.Builder) (*ops.Node, error) {
			_, n := w.Size()
			list, err := lookUp(ids, n, "rows")
			if err != nil {
				return nil, err
			}
			return g.PackedGather(w, list)
		})
	}
	return table.Kernel("gather", func(g *ops.Builder) (*ops.Node, error) {
		table.LookedUp()
		s := table.Operand().Shape()
		if len(s) != 2 {
			return nil, errors.Errorf("got a table %v, want (v, d)", s)
		}
		list, err := lookUp(ids, s[0], "rows")
		if err != nil {
			return nil, err
		}
		return g.Gather(table.Operand(), list)
	}, ids)
}
