package graph

import (
	"slices"
	"testing"
)

// Watch passes gradients on during the backward pass, the last layer's first, in the order that it returned. They equal
// the gradients after the run, for kernels and for stock operations, and for a matrix that is used twice.
func TestWatch(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := New(Float32, 3)
		g.Kernels = kernels
		x := g.Root().Value("x", Normal(1), 6, 8)
		var wrt []Expr
		tied := g.Root().Param("tied", Normal(0.5), 8, 8)
		h := x.MatMul(tied)
		for _, name := range []string{"a", "b", "c"} {
			w := g.Root().Sub("%s", name).Param("w", Normal(0.5), 8, 8)
			bias := g.Root().Sub("%s", name).Param("b", Normal(0.5), 8)
			wrt = append(wrt, w, bias)
			y, ok := Linear(h, w, bias)
			if !ok {
				y = h.MatMul(w).Add(bias)
			}
			h = h.Add(y.Tanh())
		}
		p := mustCompile(t, h.MatMul(tied).Square().SumAll(), append(wrt, tied)...)
		var shown []string
		seen := map[string][]float64{}
		order := p.Watch(func(x Expr, grad Tensor) {
			shown = append(shown, x.Name())
			seen[x.Name()] = grad.Floats()
		})
		for range 2 {
			shown = nil
			mustRun(t, p)
			var said []string
			for _, x := range order {
				said = append(said, x.Name())
				if !slices.Equal(seen[x.Name()], p.Grad(x).Floats()) {
					t.Errorf("kernels %t: %s was shown another gradient", kernels, x.Name())
				}
			}
			if !slices.Equal(shown, said) || len(shown) != 7 || shown[6] != "tied" || shown[0][0] != 'c' ||
				shown[5][0] != 'a' {
				t.Errorf("kernels %t: shown %v, said %v", kernels, shown, said)
			}
		}
		shown = nil
		if p.Watch(nil); mustRun(t, p) != nil && shown != nil {
			t.Errorf("kernels %t: shown %v to nobody", kernels, shown)
		}
	}
}
