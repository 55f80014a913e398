package ops_test

import (
	"math"
	"testing"

	. "github.com/pedestrian-ml/pedestrian/graph"
	. "github.com/pedestrian-ml/pedestrian/graph/fused"
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
	y, _ = CrossAttention(
		q, y.Reshape(4, 6).Join(y).Columns(0, 10), s.Value("mask", Const(0), 2, 2), cross(2, 2, 2, 2, 2, 3), 0,
	)
	y, _ = GatherCols(y, []int{0, 1, 2})
	loss, _ := CrossEntropy(y, targets, false, 0, 0)
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
		"h: gather columns h.x (4, 6): column 6 of 6": func(s Scope) {
			GatherCols(
				s.Value("x", Const(0), 4, 6), []int{0, 6},
			)
		},
	} {
		g := New(Float64, 1)
		build(g.Root().Sub("h"))
		if err := g.Err(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A run fails on a position outside the sequence, and on one declared as ignored, in both forms.
func TestRunRefusesPlaces(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := New(Float64, 1)
		g.Kernels = kernels
		x, at := g.Root().Value("x", Normal(1), 6, 2), g.Root().Ints("at", 2, 3, -1)
		y, ok := GatherTokens(x, at)
		if !ok {
			y = at.OneHot(3)
		}
		p := mustCompile(t, y)
		for place, want := range map[int]string{-1: "at[1] is -1, not in 0 … 2", 3: "at[1] is 3, not in 0 … 2", 2: ""} {
			at.Ints()[1] = place
			if err := p.Run(); err == nil && want != "" || err != nil && err.Error() != want {
				t.Errorf("kernels %t, place %d: got %v, want %s", kernels, place, err, want)
			}
		}
	}
}

// Programs of recurrent layers, norms and objectives consist of our own operations alone, including the sum of two
// losses, and run without Gorgonia's machine.
func TestObjectivesRunDirectly(t *testing.T) {
	g := New(Float32, 1)
	s := g.Root()
	const n, d = 6, 4
	x := s.Param("x", Normal(1), n, d)
	h, _ := Elman(x, s.Param("w", Normal(1), d, d), 2)
	h, _ = LayerNormSigma(h, s.Param("gain", Const(1), d), Expr{}, 1e-5)
	z, _ := LayerNorm(h, Expr{}, Expr{}, 1e-5)
	v, _ := Linear(z.Detach(), s.Param("v", Normal(1), d, 1), Expr{})
	actions := s.Ints("actions", n, d, -1)
	returns, weights := s.Value("returns", Normal(1), n, 1), s.Value("weights", Const(1), n, 1)
	old := s.Value("old", Normal(1), n, 1)
	policy, _ := PPOClip(z, actions, returns, v, weights, old, 0.2)
	value, _ := SquaredError(v, returns, weights)
	p, err := Compile(policy.Add(value), g.Params()...)
	if err != nil {
		t.Fatal(err)
	}
	if stock := p.Stock(); len(stock) > 0 {
		t.Errorf("%v are Gorgonia's own", stock)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	before := p.Loss()
	for _, w := range g.Params() {
		if err := p.Grad(w).Finite(w.Name()); err != nil {
			t.Error(err)
		}
	}
	if err := p.Run(); err != nil || p.Loss() != before {
		t.Errorf("%v, then %v (%v)", before, p.Loss(), err)
	}
}

// If a loss is multiplied by a number and added to another one, its gradient is that number times its own plus the
// other's: no backward pass assumes that the loss is computed last.
func TestLossesInsideAFormula(t *testing.T) {
	const n, v = 5, 3
	type inputs struct{ z, x, targets, returns, weights, old Expr }
	for name, loss := range map[string]func(inputs) (Expr, bool){
		"cross entropy":        func(i inputs) (Expr, bool) { return CrossEntropy(i.z, i.targets, true, 0, 0) },
		"cross entropy, a sum": func(i inputs) (Expr, bool) { return CrossEntropy(i.z, i.targets, false, 0, 0) },
		"regularised cross entropy": func(i inputs) (Expr, bool) {
			return CrossEntropy(i.z, i.targets, true, 0.2, 0.3)
		},
		"reinforce": func(i inputs) (Expr, bool) {
			return Reinforce(i.z, i.targets, i.returns, Expr{}, i.weights)
		},
		"ppo": func(i inputs) (Expr, bool) {
			return PPOClip(i.z, i.targets, i.returns, Expr{}, i.weights, i.old, 0.2)
		},
		"log probabilities": func(i inputs) (Expr, bool) {
			y, ok := LogProbs(i.z, i.targets)
			return y.Mul(i.returns).SumAll(), ok
		},
		"squared error": func(i inputs) (Expr, bool) {
			return SquaredError(i.z.MatMul(i.x), i.returns, i.weights)
		},
		"squared error of both": func(i inputs) (Expr, bool) { return SquaredError(i.z, i.z.Square(), Expr{}) },
		"binary cross entropy":  func(i inputs) (Expr, bool) { return BinaryCrossEntropy(i.z, i.z.Square()) },
	} {
		gradient := func(total func(loss Expr, in inputs) Expr) []float64 {
			g := New(Float64, 1)
			s := g.Root()
			in := inputs{s.Param("z", Normal(1), n, v), s.Value("x", Normal(1), v, 1), s.Ints("targets", n, v, -1),
				s.Value("returns", Normal(1), n, 1), s.Value("weights", Const(1), n, 1),
				s.Value("old", Const(-1), n, 1)}
			copy(in.targets.Ints(), []int{2, 0, 1, 1, 0})
			in.weights.Tensor().Set(1, 2)
			l, ok := loss(in)
			if !ok {
				t.Fatalf("%s has no kernel: %v", name, g.Err())
			}
			p, err := Compile(total(l, in), in.z)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := p.Run(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return p.Grad(in.z).Floats()
		}
		own := gradient(func(l Expr, _ inputs) Expr { return l })
		other := gradient(func(l Expr, in inputs) Expr { return in.z.Square().SumAll() })
		both := gradient(func(l Expr, in inputs) Expr { return in.z.Square().SumAll().Add(l.Scale(-3)) })
		nonzero := false
		for i := range both {
			nonzero = nonzero || math.Abs(own[i]) > 0.01
			if want := other[i] - 3*own[i]; !(math.Abs(both[i]-want) <= 1e-12) {
				t.Errorf("%s, entry %d: got %v, want %v", name, i, both[i], want)
			}
		}
		if !nonzero {
			t.Errorf("%s: the gradient %v says nothing", name, own)
		}
	}
}
