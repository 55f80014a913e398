package graph

import "testing"

// The gradient of Σ x·detach(x) is detach(x), half of that of Σ x².
func TestDetach(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		g := New(Float64, 1)
		g.Kernels = kernels
		x := g.Root().Param("x", Normal(1), 2, 3)
		p, err := Compile(x.Mul(x.Detach()).SumAll(), x)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		var squares float64
		for i, v := range x.Tensor().F64 {
			squares += v * v
			if got := p.Grad(x).F64[i]; got != v {
				t.Errorf("kernels %t: gradient %v at %v", kernels, got, v)
			}
		}
		if d := p.Loss() - squares; !(d <= 1e-15 && d >= -1e-15) {
			t.Errorf("kernels %t: %v, want %v", kernels, p.Loss(), squares)
		}
	}
}
