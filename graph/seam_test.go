package graph_test

import (
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pedestrian-ml/pedestrian/graph/stored"
)

// TestSeamRefuses checks that an operation that is not built is an error of its layer, and that an empty expression has
// no operand, no integers, no weights and no dropout.
func TestSeamRefuses(t *testing.T) {
	nothing := func(*ops.Builder) (*ops.Node, error) { return nil, nil }
	noInts := func(*ops.Builder, []int) (*ops.Node, error) { return nil, nil }
	for want, build := range map[string]func(x graph.Expr){
		"h.0: a x (2, 3): got no function that builds": func(x graph.Expr) { x.Operate("a", nil) },
		"h.0: b x (2, 3): the operation was not built": func(x graph.Expr) { x.Kernel("b", nothing) },
		"h.0: c x (2, 3): got no function that builds": func(x graph.Expr) { x.OperateInts("c", 4, nil) },
		"h.0: d x (2, 3): the operation was not built": func(x graph.Expr) { x.OperateInts("d", 4, noInts) },
	} {
		g := graph.New(graph.Float32, 1)
		if build(g.Root().Value("x", graph.Const(1), 2, 3).In(g.Root().Sub("h.0"))); g.Err() == nil ||
			!strings.HasPrefix(g.Err().Error(), want) {
			t.Errorf("got error %v, want %s", g.Err(), want)
		}
	}
	var empty graph.Expr
	empty.Multiplied(true)
	empty.LookedUp()
	if _, err := empty.Drop("attn_dropout", 0.5); err == nil || empty.Operand() != nil {
		t.Errorf("got %v and error %v, want nothing and an error", empty.Operand(), err)
	}
	x := graph.New(graph.Float32, 1).Root().Value("x", graph.Const(1), 2, 3)
	for _, x := range []graph.Expr{empty, x} {
		if n, limit, ignored := x.Integers(); n != 0 || limit != 0 || ignored != graph.NoneIgnored {
			t.Errorf("got %d integers below %d, %d ignored, want none", n, limit, ignored)
		}
		if w, ok := x.Weights(false); ok || w != nil || x.CheckIDs(3, "rows") == nil {
			t.Errorf("got weights %v, want none, and no integers", w)
		}
	}
}

// counts is a table of positions whose rows count.
type counts struct{}

func (counts) Row(i, from int, into graph.Tensor) {
	for j := range into.Len() {
		into.Set(j, float64(i+from+j))
	}
}

// TestRulesAreReadByRow checks that a kernel that reads a Rule by ByRule has memory for the rows that it reserves, that
// any other operation stores all of them, and that Reserve keeps to the limit.
func TestRulesAreReadByRow(t *testing.T) {
	build := func(limit int64, f func(x, table, ids graph.Expr)) graph.Expr {
		g := graph.New(graph.Float64, 1)
		s := g.Root()
		x, ids := s.Value("x", graph.Const(0), 2, 3), s.Ints("ids", 2, 4096, -1)
		table := s.Rule("table", counts{}, 4096, 3)
		g.SetMemoryLimit(limit)
		f(x, table, ids)
		return table
	}
	positions := func(x, table, ids graph.Expr) { fused.AddPositions(x, table, ids, 1) }
	if table := build(1<<20, positions); table.Graph().Err() != nil || table.Stored() < 2*3 || table.Stored() > 3*1024 {
		t.Errorf("got %v numbers and error %v, want those of some rows", table.Stored(), table.Graph().Err())
	}
	if table := build(1<<20, func(_, table, _ graph.Expr) { table.Scale(2) }); table.Stored() != 3*4096 {
		t.Errorf("got %v numbers, want all", table.Stored())
	}
	if err := build(100, positions).Graph().Err(); err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("beyond the limit: got error %v", err)
	}
}

// TestWeightsHaveAnOrientation checks that a packed matrix is read packed in the orientation of the product for which
// it was packed, and that only named parameters are recorded as factors.
func TestWeightsHaveAnOrientation(t *testing.T) {
	for _, transposed := range []bool{false, true} {
		g := graph.New(graph.Float32, 1)
		w := g.Root().Param("w", graph.Normal(1), 96, 96)
		w.Scale(1).Multiplied(transposed)
		if w.Readable() {
			t.Error("a result was recorded")
		}
		w.Multiplied(transposed)
		w.Multiplied(!transposed) // the first product counts
		s, err := g.Packed(stored.BF16)
		if err != nil {
			t.Fatal(err)
		}
		p := s.Root().Param("w", graph.Const(0), 96, 96)
		_, same := p.Weights(transposed)
		if _, other := p.Weights(!transposed); !same || other || !w.Readable() {
			t.Errorf("transposed %t: got weights %t, and %t in the other orientation", transposed, same, other)
		}
	}
	table := graph.New(graph.Float32, 1).Root().Param("table", graph.Normal(1), 96, 96)
	if table.LookedUp(); !table.Readable() {
		t.Error("a table was not recorded")
	}
}
