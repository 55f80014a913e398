package nn

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/graph"
)

func everywhere(string) bool { return true }

// TestLoRAIsKernels: where everything is a kernel, a block with adapters can forget its activations; training gives the same
// bits then, in less memory.
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

// TestLoRAStepAllocatesNothing: a decoded token goes through kernels alone, also where adapters are absorbed.
func TestLoRAStepAllocatesNothing(t *testing.T) {
	d := Dims{Batch: 1, Context: 4, Embd: 8, Heads: 2, QK: 4, V: 4, Blocks: 1}
	for name, layer := range map[string]func(at Site) Cached{
		"attention": func(at Site) Cached { return NewCausalSelfAttention(at) },
		"mla":       func(at Site) Cached { return NewMLA(at, 3) },
		"mla-rope":  func(at Site) Cached { return NewMLARoPE(positioned(at, 1, 0), 3, 3, 2, 100) },
	} {
		g := graph.New(graph.Float32, 1)
		g.SetThreads(1)
		at := newSite(g, d)
		at.Affine, at.Caches = NewLoRA(everywhere, 2, 0.7), Caches{}
		p, err := graph.Compile(layer(at).Step(at.Value("x", graph.Normal(1), 1, d.Embd), at.Ints("at", 1, d.Context, -1)))
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(10, func() {
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: a token allocates %v times", name, n)
		}
	}
}
