package nn

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// If every target is ignored, the sum is 0 and the mean is 0/0, which training refuses because it is not finite.
func TestCrossEntropyWithoutTargets(t *testing.T) {
	for _, dtype := range []graph.Dtype{graph.Float32, graph.Float64} {
		for _, kernels := range []bool{false, true} {
			for _, sum := range []bool{false, true} {
				g := graph.New(dtype, 1)
				g.Kernels = kernels
				s := g.Root()
				z, targets := s.Param("z", graph.Normal(1), 3, 5), s.Ints("y", 3, 5, -1)
				for i := range 3 {
					targets.Ints()[i] = -1
				}
				l := NewCrossEntropy(s.Sub("loss"))
				l.Sum = sum
				p, err := graph.Compile(l.Forward(z, targets), z)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Run(); err != nil {
					t.Fatal(err)
				}
				if got := p.Loss(); sum && got != 0 || !sum && got == got {
					t.Errorf("%v, kernels %v, sum %v: got %v, want 0 of a sum, and of a mean 0/0", dtype, kernels, sum, got)
				}
				for i, d := range p.Grad(z).Floats() {
					if (sum || kernels) && d != 0 {
						t.Errorf("%v, kernels %v, sum %v: the gradient of entry %d is %v, want 0", dtype, kernels, sum, i, d)
					}
				}
			}
		}
	}
}
