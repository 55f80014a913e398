package graph_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/graph/internal/graphtest"
)

// Computed ids work like fed ids: for gathering rows, one-hot matrices and losses, in both forms, in every run, and
// also if they are recomputed to save memory.
func TestArgMaxIsIds(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		for _, recompute := range []bool{false, true} {
			g := graph.New(graph.Float64, 1)
			g.Kernels = kernels
			s := g.Root()
			x, table := s.Value("x", graph.Const(0), 2, 3), s.Param("table", graph.Normal(1), 3, 4)
			ids := x.In(s.Sub("best")).ArgMax().In(s)
			if recompute {
				g.Recompute("best")
			}
			y := table.Gather(ids)
			if z, ok := fused.Gather(table, ids); ok {
				y = y.Add(z).Scale(0.5)
			}
			right := s.Ints("right", 2, 3, -1)
			right.Ints()[0] = 1
			hits := ids.OneHot(3).Mul(right.OneHot(3)).SumAll()
			p, accuracy := graphtest.Compile(t, y.SumAll(), table), graphtest.Compile(t, hits)
			for _, largest := range [][]int{{1, 2}, {0, 0}, {1, 0}} {
				for i := range 6 {
					x.Tensor().Set(i, 0)
				}
				want, hit := make([]float64, 12), 0.0
				for i, c := range largest {
					x.Tensor().Row(i).Set(c, 1)
					for j := range 4 {
						want[c*4+j]++
					}
					if c == right.Ints()[i] {
						hit++
					}
				}
				graphtest.Close(t, "the table's gradient", graphtest.Run(t, p).Grad(table).Floats(), want, 0)
				graphtest.Close(t, "right", []float64{graphtest.Run(t, accuracy).Loss()}, []float64{hit}, 0)
				if !slices.Equal(ids.Ints(), largest) {
					t.Errorf("got %v, want %v", ids.Ints(), largest)
				}
			}
		}
	}
}

// Integers are added, scaled, divided and delayed exactly, where numbers of the graph's type would round, in every run
// and on an Outline.
func TestIntegers(t *testing.T) {
	const large = 1<<55 + 1
	for _, dtype := range []graph.Dtype{graph.Float32, graph.Float64} {
		s := graph.New(dtype, 1).Root()
		a, b := s.Ints("a", 6, large+6, graph.NoneIgnored), s.Ints("b", 6, 9, graph.NoneIgnored)
		cases := []struct {
			got   graph.Expr
			want  []int
			limit int
		}{
			{a.AddInts(b), []int{large + 1, large + 2, large + 3, large + 7, large + 9, large + 10}, large + 14},
			{
				a.ScaleInts(3), []int{3 * large, 3*large + 3, 3*large + 6, 3*large + 9, 3*large + 12, 3*large + 15},
				3*(large+5) + 1,
			},
			{a.ScaleInts(0), make([]int, 6), 1},
			{a.ModInts(10), []int{9, 0, 1, 2, 3, 4}, 10},
			{a.DelayInts(2, 3, 7), []int{7, 7, large, 7, 7, large + 3}, large + 6},
			{b.DelayInts(1, 6, large), []int{large, 1, 1, 1, 4, 5}, large + 1},
			{b.DelayInts(0, 2, 0), []int{1, 1, 1, 4, 5, 5}, 9},
			{b.DelayInts(3, 3, 0), make([]int, 6), 9},
			{
				fused.CachedDelayInts(b, s.Ints("at", 1, 9, -1), 8, fused.NewConvCache(2, 1, 2)),
				[]int{8, 1, 1, 8, 4, 5}, 9,
			},
		}
		sum := s.Value("zero", graph.Const(0), 1, 1).SumAll()
		for _, c := range cases {
			sum = sum.Add(c.got.ModInts(11).OneHot(11).SumAll())
		}
		p := graphtest.Compile(t, sum)
		for range 2 {
			for i := range 6 {
				a.Ints()[i], b.Ints()[i] = large+i, []int{1, 1, 1, 4, 5, 5}[i]
			}
			if graphtest.Run(t, p); p.Loss() != float64(6*len(cases)) {
				t.Errorf("%v: got %v ids, want %d", dtype, p.Loss(), 6*len(cases))
			}
			for i, c := range cases {
				if _, limit, _ := c.got.Integers(); !slices.Equal(c.got.Ints(), c.want) || limit != c.limit {
					t.Errorf("%v, %d: got %v below %d, want %v below %d",
						dtype, i, c.got.Ints(), limit, c.want, c.limit)
				}
			}
			clear(a.Ints())
			clear(b.Ints())
			graphtest.Run(t, p)
		}
	}
	o := graph.Outline(graph.Float32).Root()
	if y := o.Ints("ids", 6, 9, graph.NoneIgnored); !slices.Equal(
		y.AddInts(y.DelayInts(1, 3, 0).ScaleInts(5)).ModInts(4).Shape(), []int{6},
	) || o.Graph().Err() != nil {
		t.Error(o.Graph().Err())
	}
}

// What could overflow, and what is no list of ids, is an error; an ignored id fails when it runs.
func TestIntegersRefuse(t *testing.T) {
	ids := func(s graph.Scope) graph.Expr { return s.Ints("ids", 6, 1<<40, graph.NoneIgnored) }
	narrow, wide := func() *fused.ConvCache { return fused.NewConvCache(2, 1, 3) }, fused.NewConvCache(2, 4, 3)
	at := func(s graph.Scope) graph.Expr { return s.Ints("at", 1, 9, -1) }
	x := func(s graph.Scope) graph.Expr { return s.Value("x", graph.Const(1), 6, 4) }
	for want, of := range map[string]func(s graph.Scope) graph.Expr{
		"the sum of ids up to 1099511627775 and 9223372036854775806 overflows": func(s graph.Scope) graph.Expr {
			return ids(s).AddInts(s.Ints("b", 6, math.MaxInt, graph.NoneIgnored))
		},
		"got 6 and 5 integers": func(s graph.Scope) graph.Expr {
			return ids(s).AddInts(s.Ints("b", 5, 9, graph.NoneIgnored))
		},
		"got a factor of 16777216, want 0 to 8388608 for ids up to 1099511627775": func(s graph.Scope) graph.Expr {
			return ids(s).ScaleInts(1 << 24)
		},
		"got a factor of -1": func(s graph.Scope) graph.Expr {
			return ids(s).ScaleInts(-1)
		},
		"got 0, want a divisor of at least 1": func(s graph.Scope) graph.Expr {
			return ids(s).ModInts(0)
		},
		"got 6 ids in sequences of 4": func(s graph.Scope) graph.Expr {
			return ids(s).DelayInts(1, 4, 0)
		},
		"got 6 ids in sequences of 0": func(s graph.Scope) graph.Expr {
			return ids(s).DelayInts(1, 0, 0)
		},
		"got 4 steps, want 0 to the length of a sequence, 3": func(s graph.Scope) graph.Expr {
			return ids(s).DelayInts(4, 3, 0)
		},
		"got -1 steps": func(s graph.Scope) graph.Expr {
			return ids(s).DelayInts(-1, 3, 0)
		},
		"got -1 for the tokens before": func(s graph.Scope) graph.Expr {
			return ids(s).DelayInts(1, 3, -1)
		},
		"got -2 for the tokens before": func(s graph.Scope) graph.Expr {
			return fused.CachedDelayInts(ids(s), at(s), -2, narrow())
		},
		"got ids up to 9007199254740992": func(s graph.Scope) graph.Expr {
			return fused.CachedDelayInts(ids(s), at(s), 1<<53, narrow())
		},
		"got a cache of 4 columns, want 1": func(s graph.Scope) graph.Expr {
			return fused.CachedDelayInts(ids(s), at(s), 0, wide)
		},
		"no cache to continue from": func(s graph.Scope) graph.Expr {
			return fused.CachedDelayInts(ids(s), at(s), 0, nil)
		},
		"got 6 tokens, want the same": func(s graph.Scope) graph.Expr {
			return fused.CachedDelay(x(s), at(s), fused.NewConvCache(4, 4, 2))
		},
		"got (6, 4), want a matrix": func(s graph.Scope) graph.Expr {
			return fused.CachedDelay(x(s), at(s), narrow())
		},
		"x (6, 4), at (1): no cache": func(s graph.Scope) graph.Expr { return fused.CachedDelay(x(s), at(s), nil) },
		"got 3 positions, want 1": func(s graph.Scope) graph.Expr {
			return fused.CachedDelay(x(s), s.Ints("at", 3, 9, -1), wide)
		},
		"want integers declared by Ints": func(s graph.Scope) graph.Expr { return x(s).ScaleInts(1) },
		"x (6, 4): want integers":        func(s graph.Scope) graph.Expr { return ids(s).AddInts(x(s)) },
		"x (6, 4), at (1): want integers": func(s graph.Scope) graph.Expr {
			return fused.CachedDelayInts(x(s), at(s), 0, narrow())
		},
		"a row is looked up for every id": func(s graph.Scope) graph.Expr {
			return s.Ints("ids", 6, 4, -2).Advance(1, 3).ModInts(2)
		},
	} {
		s := graph.New(graph.Float64, 1).Root()
		of(s)
		if err := s.Graph().Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	s := graph.New(graph.Float64, 1).Root()
	a, b := s.Ints("a", 2, 4, -2), s.Ints("b", 2, 4, -2)
	p := graphtest.Compile(t, a.AddInts(b).OneHot(8).SumAll())
	for _, list := range []graph.Expr{a, b} {
		list.Ints()[1] = -2
		if err := p.Run(); err == nil || !strings.Contains(err.Error(), "is -2, not in 0 … 3") {
			t.Errorf("got %v, want an error of an ignored id", err)
		}
		list.Ints()[1] = 0
	}
}
