package nn

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// TestKernelsLeaveNoStock: a layer on kernels consists of kernels, forward and backward, without Gorgonia's own
// operations, except for those of the sum over its result.
func TestKernelsLeaveNoStock(t *testing.T) {
	stock := func(c layerCase) (names []string, sum bool) {
		g := graph.New(graph.Float32, 7)
		x := g.Root().Value("x", graph.Normal(1), 12, 8)
		y := c.build(newSite(g, shapes[0]), x)
		if sum = len(y.Shape()) == 2; sum {
			y = y.Mul(g.Root().Value("delta", graph.Normal(1), y.Shape()...)).SumAll()
		}
		p, err := graph.Compile(y, append([]graph.Expr{x}, g.Params()...)...)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		return p.Stock(), sum
	}
	none, _ := stock(layerCase{build: func(_ Site, x graph.Expr) graph.Expr { return x }})
	for _, c := range allCases() {
		if got, sum := stock(c); sum && len(got) > len(none) || !sum && len(got) > 0 {
			t.Errorf("%s: got %q, the sum alone has %q", c.name, got, none)
		}
	}
}
