package train

import (
	"context"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// two returns a Core with the loss of w and v, some of which may be frozen.
func two(t *testing.T, training Training) *Core {
	t.Helper()
	training.LearningRate, training.GradientAccumulationSteps = 0.1, 1
	core, err := New(training, Run{Threads: 1}, Task{
		Build: func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
			w, v := g.Root().Param("w", graph.Const(2), 1, 2), g.Root().Param("v", graph.Const(3), 1, 2)
			return w.Mul(v).Square().SumAll(), g.Params(), g.Err()
		},
		Fill: func(int, int) (int, error) { return 1, nil }, Optimizer: adamw,
	})
	if err != nil {
		t.Fatal(err)
	}
	return core
}

// No gradient is computed for frozen parameters.
func TestFrozenHasNoGradient(t *testing.T) {
	core := two(t, Training{Frozen: Frozen{"v*"}})
	if _, err := core.Step(); err != nil {
		t.Fatal(err)
	}
	for _, p := range core.graph.Params() {
		if frozen := p.Name() == "v"; (core.backward.Grad(p).Len() == 0) != frozen ||
			(p.Tensor().At(0) == 3) != frozen {
			t.Errorf("%s: %d numbers of a gradient, is %v", p.Name(), core.backward.Grad(p).Len(), p.Tensor().At(0))
		}
	}
	if got := core.Moments(); len(got) != 2 || got[0].Name != "m.w" || got[1].Name != "v.w" {
		t.Errorf("moments %v", got)
	}
}

// A step function that does no step ends the loop, which would otherwise be endless.
func TestStepsWithoutProgress(t *testing.T) {
	core, n := two(t, Training{}), 0
	for _, err := range core.Steps(t.Context(), 2, func() (Progress, error) { return Progress{}, nil }) {
		n++
		contains(t, err, "the step has done nothing: 0 are done")
	}
	var none context.Context
	for _, err := range core.Steps(none, 2, core.Step) {
		n++
		contains(t, err, "a context such as")
	}
	for range core.Steps(t.Context(), 2, core.Step) {
		n++
	}
	if n != 4 || core.Done != 2 {
		t.Errorf("yielded %d times, %d steps done, want 4 and 2", n, core.Done)
	}
}
