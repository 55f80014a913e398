package graph_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/graph/internal/graphtest"
	pkgerrors "github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// TestErrorMessages: an error contains the layer, the operation, the operands by name and shape, and the reason. The
// first error counts.
func TestErrorMessages(t *testing.T) {
	for _, c := range []struct {
		want  string
		build func(s graph.Scope, x graph.Expr) graph.Expr // x is (16, 32)
	}{
		{"h.3.ln_1: mul (16, 32), h.3.ln_1.weight (48): shapes differ and do not broadcast",
			func(s graph.Scope, x graph.Expr) graph.Expr {
				s = s.Sub("ln_1")
				return x.Scale(2).In(s).Mul(s.Param("weight", graph.Const(1), 48))
			}},
		{"h.3: add x (16, 32), h.3.y (2, 16, 32): shapes differ and do not broadcast",
			func(s graph.Scope, x graph.Expr) graph.Expr {
				return x.In(s).Add(s.Param("y", graph.Const(1), 2, 16, 32))
			}},
		{"h.3: matmul x (16, 32), h.3.w (31, 4): inner sizes 32 and 31 differ",
			func(s graph.Scope, x graph.Expr) graph.Expr {
				return x.In(s).MatMul(s.Param("w", graph.Const(1), 31, 4))
			}},
		{"h.3: linear x (16, 32), h.3.w (31, 4): 32 features, the weight takes 31",
			func(s graph.Scope, x graph.Expr) graph.Expr {
				y, _ := fused.Linear(x.In(s), s.Param("w", graph.Const(1), 31, 4), graph.Expr{})
				return y
			}},
		{"h.3: linear x (16, 32), h.3.w (32, 4), h.3.b (5): a bias of 5 for 4 outputs",
			func(s graph.Scope, x graph.Expr) graph.Expr {
				y, _ := fused.Linear(x.In(s), s.Param("w", graph.Const(1), 32, 4), s.Param("b", graph.Const(1), 5))
				return y
			}},
		{"h.3: layernorm x (16, 32), h.3.w (33): 33 gains for 32 features",
			func(s graph.Scope, x graph.Expr) graph.Expr {
				y, _ := fused.LayerNorm(x.In(s), s.Param("w", graph.Const(1), 33), graph.Expr{}, 1e-5)
				return y
			}},
		{"h.3: layernorm x (16, 32), h.3.b (32): shifts without gains", func(s graph.Scope, x graph.Expr) graph.Expr {
			y, _ := fused.LayerNorm(x.In(s), graph.Expr{}, s.Param("b", graph.Const(0), 32), 1e-5)
			return y
		}},
		{
			"h.3: dropout(-0.1) x (16, 32): probability -0.1 is not in 0 ≤ p < 1",
			func(s graph.Scope, x graph.Expr) graph.Expr { return x.In(s).Dropout(-0.1) },
		},
		{
			"h.3: dropout(1) x (16, 32): probability 1 is not in 0 ≤ p < 1",
			func(s graph.Scope, x graph.Expr) graph.Expr { return x.In(s).Dropout(1) },
		},
		{
			"h.3: dropout(NaN) x (16, 32): probability NaN is not in 0 ≤ p < 1",
			func(s graph.Scope, x graph.Expr) graph.Expr { return x.In(s).Dropout(math.NaN()) },
		},
		{"h.3: attention x (16, 32), h.3.mask (8, 8): probability 1.5 is not in 0 ≤ p < 1",
			func(s graph.Scope, x graph.Expr) graph.Expr {
				y, _ := fused.Attention(
					x.In(s), s.Value("mask", graph.Const(0), 8, 8),
					fused.AttentionShape{Batch: 2, Context: 8, Heads: 2, QK: 4, V: 8},
					1.5,
				)
				return y
			}},
		{
			"h.3: reshape to (5, 5) x (16, 32): 512 entries cannot become 25",
			func(s graph.Scope, x graph.Expr) graph.Expr { return x.In(s).Reshape(5, 5) },
		},
		{"h.3: columns 30:33 x (16, 32): no such columns", func(s graph.Scope, x graph.Expr) graph.Expr {
			return x.In(s).Columns(30, 33)
		}},
		{"h.3: join x (16, 32), h.3.y (15, 2): 16 and 15 rows", func(s graph.Scope, x graph.Expr) graph.Expr {
			return x.In(s).Join(s.Param("y", graph.Const(1), 15, 2))
		}},
		{"h.3: mean (): a scalar has no last axis", func(s graph.Scope, x graph.Expr) graph.Expr {
			return x.In(s).SumAll().Mean()
		}},
		{"h.3: gather x (16, 32), h.3.ids (4): ids up to 16 for 16 rows", func(s graph.Scope, x graph.Expr) graph.Expr {
			return x.In(s).Gather(s.Ints("ids", 4, 17, -1))
		}},
		{"h.3: gather x (16, 32), h.3.ids (4): ids up to 16 for 16 rows", func(s graph.Scope, x graph.Expr) graph.Expr {
			y, _ := fused.Gather(x.In(s), s.Ints("ids", 4, 17, -1))
			return y
		}},
		{
			"h.3: gather x (16, 32), x (16, 32): want integers declared by Ints",
			func(s graph.Scope, x graph.Expr) graph.Expr { return x.In(s).Gather(x) },
		},
		{
			"h.3: one-hot h.3.ids (4): ids up to 16 for 16 classes",
			func(s graph.Scope, x graph.Expr) graph.Expr { return s.Ints("ids", 4, 17, -1).OneHot(16) },
		},
		{"h.3: cross entropy x (16, 32), h.3.ids (16): ids up to 32 for 32 classes",
			func(s graph.Scope, x graph.Expr) graph.Expr {
				y, _ := fused.CrossEntropy(x.In(s), s.Ints("ids", 16, 33, -1), true, 0, 0)
				return y
			}},
		{"h.3: cross entropy x (16, 32), h.3.ids (15): 16 rows of logits for 15 targets",
			func(s graph.Scope, x graph.Expr) graph.Expr {
				y, _ := fused.CrossEntropy(x.In(s), s.Ints("ids", 15, 32, -1), true, 0, 0)
				return y
			}},
		{
			"h.3: add x (16, 32), (): an operand is empty or belongs to another graph",
			func(s graph.Scope, x graph.Expr) graph.Expr { return x.In(s).Add(graph.Expr{}) },
		},
		{
			"h.3: mul (), x (16, 32): an operand is empty or belongs to another graph",
			func(s graph.Scope, x graph.Expr) graph.Expr { return graph.Expr{}.Mul(x.In(s)) },
		},
		{
			"h.3: scale by 2 (): an operand is empty or belongs to another graph",
			func(s graph.Scope, x graph.Expr) graph.Expr { return graph.Expr{}.In(s).Scale(2) },
		},
		{"h.3: mul x (16, 32), x (16, 32): an operand is empty or belongs to another graph",
			func(s graph.Scope, x graph.Expr) graph.Expr {
				return x.In(s).Mul(graph.New(graph.Float64, 1).Root().Value("x", graph.Const(1), 16, 32))
			}},
		{"h.3.attn: 5 heads do not divide 32 features", func(s graph.Scope, x graph.Expr) graph.Expr {
			s.Sub("attn").Failf("%d heads do not divide %d features", 5, 32)
			s.Sub("mlp").Failf("a second error")
			return x
		}},
		{"h.3: wrap x (16, 32): no such operation", func(s graph.Scope, x graph.Expr) graph.Expr {
			return x.In(s).Wrap(nil, errors.New("no such operation"))
		}},
	} {
		g := graph.New(graph.Float64, 1)
		x := g.Root().Value("x", graph.Normal(1), 16, 32)
		y := c.build(g.Root().Sub("h.%d", 3), x)
		for _, e := range []graph.Expr{y.Add(x).Mean(), y.Exp().SumAll()} { // later operations pass the error on
			if e.Shape() != nil || e.Operand() != nil {
				t.Errorf("%s: a result after the failure has shape %v", c.want, e.Shape())
			}
			y = e.Wrap(G.Tanh(e.Node())) // Gorgonia panics on nil
			y = y.Wrap(G.HadamardProd(x.Node(), y.Node()))
		}
		_, err := graph.Compile(y.SumAll(), x)
		if err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
			continue
		}
		if _, ok := err.(interface{ StackTrace() pkgerrors.StackTrace }); !ok {
			t.Errorf("%s: no stack", c.want)
		}
	}
}

// TestRunRefusesIdsOutOfRange: the run fails before anything is computed, and the error names the input, the index and
// the range.
func TestRunRefusesIdsOutOfRange(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := graph.New(graph.Float64, 1)
		g.Kernels = kernels
		table := g.Root().Param("wte.weight", graph.Normal(1), 5, 3)
		ids, targets := g.Root().Ints("tokens", 2, 5, -1), g.Root().Ints("targets", 2, 3, -1)
		rows := table.Gather(ids)
		if y, ok := fused.Gather(table, ids); ok {
			rows = y
		}
		loss, ok := fused.CrossEntropy(rows, targets, true, 0, 0)
		if !ok {
			loss = rows.Mul(targets.OneHot(3)).SumAll()
		}
		p := graphtest.Compile(t, loss, table)
		for _, c := range []struct {
			ids, targets [2]int
			want         string
		}{
			{[2]int{0, 5}, [2]int{}, "tokens[1] is 5, not in 0 … 4"},
			{[2]int{-2, 0}, [2]int{}, "tokens[0] is -2, not in 0 … 4"},
			{[2]int{-1, 0}, [2]int{}, "tokens[0] is -1, not in 0 … 4"}, // an ignored id has no row
			{[2]int{4, 0}, [2]int{0, 3}, "targets[1] is 3, not in 0 … 2"},
			{[2]int{4, 0}, [2]int{-1, 2}, ""}, // a target may be ignored
		} {
			copy(ids.Ints(), c.ids[:])
			copy(targets.Ints(), c.targets[:])
			err := p.Run()
			if got := fmt.Sprint(err); got != c.want && !(err == nil && c.want == "") {
				t.Errorf("got %v, want %s", err, c.want)
			}
		}
	}
}
