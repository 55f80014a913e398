package verify

import (
	"fmt"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

func largest(x graph.Expr) (most float64) {
	for _, v := range x.Tensor().Floats() {
		most = max(most, math.Abs(v))
	}
	return most
}

// The input exceeds ±1, where activations bend; parameters do not.
func TestInputsAreLarge(t *testing.T) {
	var x, w graph.Expr
	c := Case{Build: func(at nn.Site, in graph.Expr) graph.Expr {
		x, w = in, at.Param("w", graph.Const(0), at.Embd)
		return in.Mul(w)
	}}
	if _, err := c.form(kernels64); err != nil {
		t.Fatal(err)
	}
	if a, b := largest(x), largest(w); !(a > 1.5 && a <= 2 && b > 0.1 && b <= 0.5) {
		t.Errorf("the input is up to %v, a parameter up to %v, want 2 and ½", a, b)
	}
}

// Nodes that share a hash, which Gorgonia would merge, get other hashes.
func TestCollisionsAreBuiltAgain(t *testing.T) {
	builds := 0
	r, err := Case{
		Name: "two parameters with one hash",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			builds++
			a, b := at.Param("p179599", graph.Const(2), 2), at.Param("p362382", graph.Const(5), 2)
			return x.SumAll().Mul(a.Mul(b).Add(a).SumAll())
		},
	}.Run()
	if err != nil || !r.OK() || builds < 4 {
		t.Errorf("built %d times: got %v, %v", builds, r, err)
	}
}

// If kernels compute something else, central differences still agree with autodiff, because they differentiate the
// reference form.
func TestDifferencesAreOfTheReference(t *testing.T) {
	r, err := Case{Build: func(at nn.Site, x graph.Expr) graph.Expr {
		if at.Graph().Kernels {
			return x.Scale(3)
		}
		return x.Scale(2)
	}}.Run()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if !(row.Gaps[differences] < 1e-6) {
			t.Errorf("%s: differences are %v off", row.Name, row.Gaps[differences])
		}
	}
	if r.OK() {
		t.Error("kernels that compute something else are as good")
	}
}

// The rows of a step of n tokens correspond to their places in the context, sequence by sequence.
func TestEachRow(t *testing.T) {
	var got []string
	eachRow(
		nn.Site{Dims: nn.Dims{Batch: 2, Context: 5}}, 3, 2,
		func(step, forward int) { got = append(got, fmt.Sprintf("%d→%d", step, forward)) },
	)
	if want := "[0→3 1→4 2→8 3→9]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	r := &Report{Tolerance: 1e-3}
	row := func(x ...float64) graph.Tensor { return graph.Tensor{Shape: []int{len(x)}, F64: x} }
	r.compareStep(row(1, 100), row(1.05, 100), 0)
	r.compareStep(row(1, -100), row(1, -101), 7)
	r.compareStep(row(2, 3, 5), row(1, 2, 5), 8)
	if want := "[Step and Forward differ: row 7, column 1: Step has -100, Forward -101 Step and Forward differ: row " +
		"8, column 0: Step has 2, Forward 1]"; fmt.Sprint(r.Failures) != want {
		t.Errorf("got %v, want %s", r.Failures, want)
	}
}

// A text that the model cannot take is an error of the form that computes first.
func TestCheckRefusesWords(t *testing.T) {
	m := newModel(t, small())
	m.Tokens[0] = m.Config.VocabSize
	s, err := m.subject()
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.build(kernels64)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := b.run(kernels64, m.Parameters); err == nil || r != nil {
		t.Errorf("got %v, %v", r, err)
	}
}
