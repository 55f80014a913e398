package graph

import (
	"math"
	"testing"
)

// TestPositionsAndArrangementsAreDirect: a training step of these kernels uses no operation of Gorgonia's.
func TestPositionsAndArrangementsAreDirect(t *testing.T) {
	g := New(Float32, 1)
	s := g.Root()
	x, table := s.Param("x", Normal(1), 4, 6), s.Param("table", Normal(1), 5, 6)
	ids, targets := s.Ints("ids", 4, 5, -1), s.Ints("targets", 4, 3, -1)
	y, _ := AddPositions(x, table, ids, 3)
	y, _ = Scale(y, 0.5)
	y, _ = GatherCols(y, []int{5, -1, 0, 0, 2, 3})
	q, _ := GatherCols(y, []int{0, 1, 2, 3})
	y, _ = CrossAttention(q, y.Reshape(4, 6).Join(y).Cols(0, 10), s.Value("mask", Const(0), 2, 2), CrossShape{2, 2, 2, 2, 2, 3}, 0)
	y, _ = GatherCols(y, []int{0, 1, 2})
	loss, _ := CrossEntropy(y, targets, false)
	p, err := Compile(loss, x, table)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	if stock := p.Stock(); len(stock) > 0 {
		t.Errorf("%v are Gorgonia's own", stock)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(10, func() {
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
	}); n > 40 {
		t.Errorf("%v allocations a run", n)
	}
}

// TestArrange tests columns that are named twice, never, or as −1, and the gradient of each.
func TestGatherCols(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Value("x", Normal(1), 3, 4)
	order := []int{2, -1, 0, 2}
	y, _ := GatherCols(x, order)
	weights := g.Root().Value("w", Normal(1), 3, 4)
	p, err := Compile(y.Mul(weights).SumAll(), x)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	var loss float64
	want := make([]float64, 12)
	for i := range 3 {
		for c, from := range order {
			if from >= 0 {
				loss += x.Tensor().At(i*4+from) * weights.Tensor().At(i*4+c)
				want[i*4+from] += weights.Tensor().At(i*4 + c)
			}
		}
	}
	if !(math.Abs(p.Loss()-loss) <= 1e-14*math.Abs(loss)) {
		t.Errorf("got %v, want %v", p.Loss(), loss)
	}
	for i, v := range want {
		if got := p.Grad(x).At(i); got != v {
			t.Errorf("gradient %d: got %v, want %v", i, got, v)
		}
	}
}

func TestPositionErrors(t *testing.T) {
	for want, build := range map[string]func(s Scope){
		"h: add positions h.x (4, 6), h.table (5, 7), h.ids (4): (4, 6) is not (4, 7)": func(s Scope) {
			AddPositions(s.Value("x", Const(0), 4, 6), s.Value("table", Const(0), 5, 7), s.Ints("ids", 4, 5, -1), 1)
		},
		"h: add positions h.x (4, 6), h.table (3, 6), h.ids (4): ids up to 4 for 3 rows": func(s Scope) {
			AddPositions(s.Value("x", Const(0), 4, 6), s.Value("table", Const(0), 3, 6), s.Ints("ids", 4, 5, -1), 1)
		},
		"h: gather columns h.x (4, 6): column 6 of 6": func(s Scope) { GatherCols(s.Value("x", Const(0), 4, 6), []int{0, 6}) },
	} {
		g := New(Float64, 1)
		build(g.Root().Sub("h"))
		if err := g.Err(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
