package nn

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// A logit of −∞ is an impossible class. Unless it is the target, value and gradient are finite, and the same in both
// forms of every loss over classes.
func TestLossesOfImpossibleClasses(t *testing.T) {
	for name, loss := range map[string]func(at Site, x, ids graph.Expr) graph.Expr{
		"cross entropy": idReaders["cross entropy"].build, "reinforce": idReaders["reinforce"].build, "ppo": idReaders["ppo"].build,
	} {
		for _, dtype := range []graph.Dtype{graph.Float64, graph.Float32} {
			var sides [2][]float64
			for side := range sides {
				g := graph.New(dtype, 1)
				g.Kernels = side == 1
				s := g.Root().Sub("a")
				x, ids := s.Param("x", graph.Normal(1), 10, 5), s.Ints("ids", 10, 5, -1)
				for i := range ids.Ints() {
					ids.Ints()[i] = i % 4
					x.Tensor().Set(5*i+4, math.Inf(-1))
				}
				p, err := graph.Compile(loss(Site{Scope: s}, x, ids), x)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Run(); err != nil {
					t.Fatal(err)
				}
				sides[side] = append([]float64{p.Loss()}, p.Grad(x).Floats()...)
			}
			for i, got := range sides[1] {
				if want := sides[0][i]; !(math.Abs(got-want) <= 1e-6) {
					t.Errorf("%s, %v: number %d is %v by kernels, want %v", name, dtype, i, got, want)
				}
			}
		}
	}
}
