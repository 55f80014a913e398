package train

import (
	"context"
	"iter"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// two returns a Core with the loss of w and v, some of which may be frozen.
func two(t *testing.T, training Training) *Core {
	t.Helper()
	training.LearningRate, training.GradientAccumulationSteps = 0.1, 1
	core, err := New(training, Run{Threads: 1, MaxIters: 2}, Task{
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

// Run ends at once without a Core or a context, and with the error of Check. It does the steps that are left, and
// continues after a break.
func TestRun(t *testing.T) {
	core, n := two(t, Training{}), 0
	var none context.Context
	for _, run := range []iter.Seq2[Progress, error]{
		(*Core)(nil).Run(t.Context()), new(Core).Run(t.Context()), core.Run(none),
	} {
		for _, err := range run {
			n++
			contains(t, err, "want a trainer and a context such as")
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, err := range core.Run(ended) {
		n++
		contains(t, err, "before step 1: context canceled")
	}
	core.task.Check = func() error { return errors.New("replaced") }
	for _, err := range core.Run(t.Context()) {
		n++
		contains(t, err, "replaced")
	}
	contains(t, second(StateOf(core, 1, 0)), "replaced")
	contains(t, second(lossNow(t.Context(), core)), "replaced")
	core.task.Check = nil
	for range 2 {
		for p, err := range core.Run(t.Context()) {
			if n++; err != nil || p.Step == 1 {
				break
			}
		}
	}
	if n != 7 || core.Done != 2 {
		t.Errorf("yielded %d times, %d steps done, want 7 and 2", n, core.Done)
	}
}
