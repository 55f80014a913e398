package nn

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/graph"
)

func everywhere(string) bool { return true }

// TestLoRAIsKernels: with kernels for all operations, a block with adapters can drop its activations; training then
// gives the same bits in less memory.
func TestLoRAIsKernels(t *testing.T) {
	d := Dims{Batch: 2, Context: 9, Embd: 8, Heads: 2, QK: 3, V: 5, Inner: 13, Blocks: 3}
	train := func(places ...string) (loss float64, grads [][]float64, bytes int) {
		g := graph.New(graph.Float64, 7)
		x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
		at := newSite(g, d)
		at.Affine, at.Dropout = NewLoRA(everywhere, 2, 0.7), 0.2
		for _, name := range []string{"a", "b", "c"} {
			x = NewBlock(at.At(name), causal).Forward(x)
		}
		g.Recompute(places...)
		p, err := graph.Compile(NewCrossEntropy(g.Root()).Forward(x, ids(at, d.Embd, -1)), g.Params()...)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		for _, w := range g.Params() {
			grads = append(grads, p.Grad(w).Floats())
		}
		return p.Loss(), grads, g.Bytes()
	}
	loss, grads, kept := train()
	again, grads2, bytes := train("h.0.a", "h.0.b", "h.0.c")
	if again != loss {
		t.Errorf("loss %v, without recomputation %v", again, loss)
	}
	if diff := cmp.Diff(grads, grads2); diff != "" {
		t.Errorf("gradients differ")
	}
	if !(bytes < kept) {
		t.Errorf("%d bytes with recomputation, %d without", bytes, kept)
	}
}
