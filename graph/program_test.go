package graph

import (
	"math"
	"testing"
)

// TestFreezing: a parameter that is not listed has no gradient, and the gradients of the others do not change.
func TestFreezing(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		build := func() (x, w, loss Expr) {
			g := New(Float64, 1)
			g.Kernels = kernels
			x, w = g.Root().Param("x", Normal(1), 3, 4), g.Root().Param("w", Normal(1), 4, 2)
			y, ok := Linear(x, w, Expr{})
			if !ok {
				y = x.MatMul(w)
			}
			return x, w, y.Tanh().SumAll()
		}
		x, w, loss := build()
		both := mustRun(t, mustCompile(t, loss, x, w))
		fx, fw, floss := build()
		one := mustRun(t, mustCompile(t, floss, fw))
		near(t, "gradient of w", one.Grad(fw).Floats(), both.Grad(w).Floats(), 0)
		if got := one.Grad(fx); got.Len() != 0 {
			t.Errorf("the frozen x has the gradient %v", got)
		}
		if both.Grad(x).Len() != 12 {
			t.Errorf("x has a gradient of %d entries", both.Grad(x).Len())
		}
	}
}

// TestSiblingSharesParameters: one store of numbers, two graphs.
func TestSiblingSharesParameters(t *testing.T) {
	g := New(Float64, 1)
	w := g.Root().Sub("h.0").Param("w", Normal(1), 2, 3)
	s := g.Sibling()
	v := s.Root().Sub("h.0").Param("w", Const(99), 2, 3)
	p := mustCompile(t, v.SumAll())
	w.Tensor().Set(0, 40)
	v.Tensor().Set(1, 2)
	near(t, "w", w.Tensor().Floats()[:2], []float64{40, 2}, 0)
	var sum float64
	for _, x := range w.Tensor().Floats() {
		sum += x
	}
	near(t, "the sibling's sum", []float64{mustRun(t, p).Loss()}, []float64{sum}, 1e-15)

	r := g.Sibling()
	r.Root().Sub("h.0").Param("w", Const(0), 3, 2)
	want := "h.0.w: shape [3 2], but the shared parameter has (2, 3)"
	if err := r.Err(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestForwardAndGradientPrograms: a graph may have any number of forward programs, compiled before and after.
func TestForwardAndGradientPrograms(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := New(Float64, 1)
		g.Kernels = kernels
		x := g.Root().Param("x", Normal(1), 3, 4)
		h := x.Tanh()
		if y, ok := GELU(x); ok {
			h = y
		}
		loss := h.Square().SumAll()
		before := mustCompile(t, h)
		grad := mustCompile(t, loss, x)
		after := mustCompile(t, loss)
		for _, v := range []float64{0.3, -1.1} {
			x.Tensor().Set(5, v)
			want := math.Pow(math.Tanh(v), 2)
			if kernels {
				want = math.Pow(v*math.Erfc(-v/math.Sqrt2)/2, 2)
			}
			mustRun(t, grad)
			first := grad.Grad(x).Clone()
			near(t, "h²", []float64{math.Pow(mustRun(t, before).Value().At(5), 2)}, []float64{want}, 1e-14)
			near(t, "loss", []float64{mustRun(t, after).Loss()}, []float64{grad.Loss()}, 0)
			mustRun(t, grad)
			near(t, "gradient", grad.Grad(x).Floats(), first.Floats(), 0)
		}
	}
}

// TestVectorsAreVectorsOutside: a vector is stored as (1, d), but declared and read as (d).
func TestVectorsAreVectorsOutside(t *testing.T) {
	g := New(Float32, 1)
	b := g.Root().Param("b", Normal(1), 3)
	p := mustRun(t, mustCompile(t, b.Square().SumAll(), b))
	for what, shape := range map[string][]int{"tensor": b.Tensor().Shape, "gradient": p.Grad(b).Shape} {
		if len(shape) != 1 || shape[0] != 3 {
			t.Errorf("%s: shape %v, want [3]", what, shape)
		}
	}
}

// A gradient may be requested twice: it is the same one.
func TestGradientAskedForTwice(t *testing.T) {
	g := New(Float64, 1)
	x, y := g.Root().Param("x", Normal(1), 2, 3), g.Root().Param("y", Normal(1), 2, 3)
	loss := x.Mul(y).Square().SumAll()
	p := mustRun(t, mustCompile(t, loss, x, y, x, x))
	for i, v := range p.Grad(x).Floats() {
		a, b := x.Tensor().At(i), y.Tensor().At(i)
		near(t, "∂x, ∂y", []float64{v, p.Grad(y).At(i)}, []float64{2 * a * b * b, 2 * b * a * a}, 1e-14)
	}
}

// The gradient of an operand has the operand's shape, even if others have the same number of entries.
func TestShapeOfErrors(t *testing.T) {
	g := New(Float64, 1)
	x, y, w := g.Root().Param("x", Normal(1), 5, 1), g.Root().Value("y", Normal(1), 1, 5), g.Root().Value("w", Const(1), 5, 1)
	loss, ok := SquaredError(x.Scale(2), y, w)
	if !ok {
		t.Fatal(g.Err())
	}
	p := mustRun(t, mustCompile(t, loss.Add(x.Square().SumAll()), x))
	for i, got := range p.Grad(x).Floats() {
		a := x.Tensor().At(i)
		near(t, "∂x", []float64{got}, []float64{4./5*(2*a-y.Tensor().At(i)) + 2*a}, 1e-14)
	}
}
