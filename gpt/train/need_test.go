package train

import (
	"fmt"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// Every further block needs the same memory, whether it is planned or extrapolated.
func TestNeedOfBlocks(t *testing.T) {
	need := func(blocks int) float64 {
		bytes, err := Need(Training{}, Run{}, Hooks{}, adamw, blocks, 1,
			func(g *graph.Graph, blocks int) ([]string, graph.Expr, []graph.Expr) {
				x := g.Root().Value("x", graph.Const(0), 32, 64)
				for i := range blocks {
					x = x.MatMul(g.Root().Param(fmt.Sprint("w", i), graph.Const(0), 64, 64)).Tanh()
				}
				return nil, x.SumAll(), g.Params()
			})
		if err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	each := (need(4) - need(2)) / 2
	if each < 4*3*64*64 { // AdamW's two moments, and the gradient
		t.Errorf("a block needs %v bytes", each)
	}
	for blocks := 4; blocks < 9; blocks++ {
		if got := need(blocks+1) - need(blocks); got != each {
			t.Errorf("block %d needs %v bytes, want %v", blocks+1, got, each)
		}
	}
}

// The average of the weights is one more number, on every machine.
func TestKeptWithEMA(t *testing.T) {
	if got := Kept(Training{EMA: 0.5, GradientAccumulationSteps: 1}, Run{}, Hooks{}, adamw, graph.Expr{}); got != 3 {
		t.Errorf("got %v numbers, want 3", got)
	}
}

// Every optimizer keeps its own moments. One that cannot be built counts as AdamW.
func TestKept(t *testing.T) {
	for name, tc := range map[string]struct {
		o    Optimizer
		want float64
	}{
		"adamw":    {adamw, 2},
		"momentum": {sgd, 1},
		"sgd":      {func(Training) optim.Rule { return optim.SGD{} }, 0},
		"none":     {nil, 2},
		"nil":      {func(Training) optim.Rule { return nil }, 2},
		"averages": {func(Training) optim.Rule { return optim.ScheduleFree{} }, 3},
	} {
		if got := Kept(
			Training{Beta1: 0.5, GradientAccumulationSteps: 1}, Run{}, Hooks{}, tc.o, graph.Expr{},
		); got != tc.want {
			t.Errorf("%s: got %v numbers, want %v", name, got, tc.want)
		}
	}
}
