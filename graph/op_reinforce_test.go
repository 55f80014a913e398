package graph

import "testing"

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
	returns, weights, old := s.Value("returns", Normal(1), n, 1), s.Value("weights", Const(1), n, 1), s.Value("old", Normal(1), n, 1)
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
