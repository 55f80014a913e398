package graph

import (
	"slices"
	"testing"
)

// A training loop without SetStep drops different entries in each step: those of the steps 0, 1, 2 … of a loop that
// calls SetStep. Evaluation and runs without gradients do not count as steps.
func TestDropoutStepsCountThemselves(t *testing.T) {
	g, numbered := New(Float64, 1), New(Float64, 1)
	masks := func(g *Graph) (run func() []float64, forward *Program) {
		x := g.Root().Param("x", Const(1), 1, 100)
		y := x.Dropout(0.5)
		p := mustCompile(t, y.SumAll(), x)
		return func() []float64 { return mustRun(t, p).Grad(x).Floats() }, mustCompile(t, y)
	}
	run, forward := masks(g)
	numberedRun, _ := masks(numbered)
	for step := range 3 {
		numbered.SetStep(uint64(step))
		got, want := run(), numberedRun()
		near(t, "the step's own mask", got, want, 0)
		near(t, "the mask that the run had", g.DropoutMask("", 0.5, 100), want, 0)
		near(t, "the same without gradients", mustRun(t, forward).Value().Floats(), want, 0)
		near(t, "a step that is held", numberedRun(), want, 0)
		g.SetTraining(false)
		if slices.Contains(run(), 0) {
			t.Error("evaluation drops")
		}
		g.SetTraining(true)
	}
	if a, b := run(), run(); slices.Equal(a, b) {
		t.Error("two steps drop the same entries")
	}
}
