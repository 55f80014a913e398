package nn

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// An error is 0 if both operands are equal, symmetric, and n times smaller per entry for n entries.
func TestI62SquaredError(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		g := graph.New(graph.Float64, 1)
		g.Kernels = kernels
		x, y := g.Root().Param("x", graph.Normal(1), 3, 2), g.Root().Param("y", graph.Normal(1), 3, 2)
		l := NewSquaredError(g.Root().Sub("loss"))
		want := 0.0
		for i, v := range x.Tensor().F64 {
			want += (v - y.Tensor().F64[i]) * (v - y.Tensor().F64[i]) / 6
		}
		if xx, xy, yx := run(t, l.Forward(x, x)).Loss(), run(t, l.Forward(x, y)).Loss(), run(t, l.Forward(y, x)).Loss(); xx != 0 || xy != yx || !(math.Abs(xy-want) <= 1e-15) {
			t.Errorf("kernels %t: got %v, %v and %v, want 0 and %v", kernels, xx, xy, yx, want)
		}
		p := run(t, l.Forward(x, y), x, y)
		for i, got := range p.Grad(x).F64 {
			if want := (x.Tensor().F64[i] - y.Tensor().F64[i]) / 3; !(math.Abs(got-want) <= 1e-15) || p.Grad(y).F64[i] != -got {
				t.Errorf("kernels %t, entry %d: got %v and %v, want ±%v", kernels, i, got, p.Grad(y).F64[i], want)
			}
		}
	}
}

// For two classes the loss of one logit is that of cross entropy with logits 0 and z. If it is right or wrong by far,
// it is 0 or |z|.
func TestI63TwoClasses(t *testing.T) {
	numbers, labels := []float64{0.7, -1.3, 2.1, -0.2, 1000, -1000, 1000, -1000}, []int{1, 0, 0, 1, 1, 0, 0, 1}
	for _, dtype := range []graph.Dtype{graph.Float64, graph.Float32} {
		for _, kernels := range []bool{false, true} {
			g := graph.New(dtype, 1)
			g.Kernels = kernels
			n := len(numbers)
			z, two := g.Root().Value("z", graph.Const(0), n, 1), g.Root().Value("two", graph.Const(0), n, 2)
			y, ids := g.Root().Value("y", graph.Const(0), n, 1), g.Root().Ints("ids", n, 2, -1)
			for i, v := range numbers {
				z.Tensor().Set(i, v)
				two.Tensor().Set(2*i+1, v)
				y.Tensor().Set(i, float64(labels[i]))
			}
			copy(ids.Ints(), labels)
			one, other := NewBinaryCrossEntropy(g.Root()).Forward(z, y), NewCrossEntropy(g.Root()).Forward(two, ids)
			if got, want := run(t, one).Loss(), run(t, other).Loss(); !(math.Abs(got-want) <= 1e-7*want) || !(want > 250 && want < 251) {
				t.Errorf("%v, kernels %t: got %v, want %v", dtype, kernels, got, want)
			}
			for i, got := range run(t, one, z).Grad(z).Floats() {
				s := 1 / (1 + math.Exp(-numbers[i]))
				if want := (s - float64(labels[i])) / float64(n); !(math.Abs(got-want) <= 2e-8) {
					t.Errorf("%v, kernels %t, entry %d: got the gradient %v, want %v", dtype, kernels, i, got, want)
				}
			}
		}
	}
}

// The operands stay in their layers' scopes, and the loss is in its own.
func TestLossesAreEntered(t *testing.T) {
	for name, loss := range map[string]func(s graph.Scope, x, y graph.Expr) graph.Expr{
		"squared error":        func(s graph.Scope, x, y graph.Expr) graph.Expr { return NewSquaredError(s).Forward(x, y) },
		"binary cross entropy": func(s graph.Scope, x, y graph.Expr) graph.Expr { return NewBinaryCrossEntropy(s).Forward(x, y) },
	} {
		g := graph.New(graph.Float64, 1)
		x := g.Root().Value("x", graph.Normal(1), 4, 1).In(g.Root().Sub("student")).Tanh()
		y := g.Root().Value("y", graph.Normal(1), 4, 1).In(g.Root().Sub("teacher")).Tanh()
		loss(g.Root().Sub("loss"), x, y)
		in, err := g.Entering("loss")
		student, err1 := g.Leaving("student")
		teacher, err2 := g.Leaving("teacher")
		if err != nil || err1 != nil || err2 != nil || in.Node() != x.Node() || student.Node() != x.Node() || teacher.Node() != y.Node() {
			t.Errorf("%s: got %v, %v, %v, or other expressions", name, err, err1, err2)
		}
	}
}

// A column and a row are an error of the loss, with both shapes: broadcast, they would give the error of every pair.
func TestLossesOfOtherShapes(t *testing.T) {
	for name, loss := range map[string]func(s graph.Scope, x, y graph.Expr) graph.Expr{
		"squared error":        func(s graph.Scope, x, y graph.Expr) graph.Expr { return NewSquaredError(s).Forward(x, y) },
		"binary cross entropy": func(s graph.Scope, x, y graph.Expr) graph.Expr { return NewBinaryCrossEntropy(s).Forward(x, y) },
	} {
		for _, kernels := range []bool{false, true} {
			g := graph.New(graph.Float64, 1)
			g.Kernels = kernels
			_, err := graph.Compile(loss(g.Root().Sub("loss"), g.Root().Value("x", graph.Normal(1), 4, 1), g.Root().Value("y", graph.Normal(1), 4)))
			if err == nil || err.Error() != "loss: shapes [4 1] and [1 4] differ" {
				t.Errorf("%s, kernels %t: got %v", name, kernels, err)
			}
		}
	}
}
