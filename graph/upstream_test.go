package graph

import (
	"math"
	"testing"
)

// If a loss is multiplied by a number and added to another one, its gradient is that number times its own plus the
// other's: no backward pass assumes that the loss is computed last.
func TestLossesInsideAFormula(t *testing.T) {
	const n, v = 5, 3
	type inputs struct{ z, x, targets, returns, weights, old Expr }
	for name, loss := range map[string]func(inputs) (Expr, bool){
		"cross entropy":        func(i inputs) (Expr, bool) { return CrossEntropy(i.z, i.targets, true) },
		"cross entropy, a sum": func(i inputs) (Expr, bool) { return CrossEntropy(i.z, i.targets, false) },
		"reinforce": func(i inputs) (Expr, bool) {
			return Reinforce(i.z, i.targets, i.returns, Expr{}, i.weights)
		},
		"ppo": func(i inputs) (Expr, bool) {
			return PPOClip(i.z, i.targets, i.returns, Expr{}, i.weights, i.old, 0.2)
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
				s.Value("returns", Normal(1), n, 1), s.Value("weights", Const(1), n, 1), s.Value("old", Const(-1), n, 1)}
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
