//go:build !race

// The race detector itself allocates.

package nn

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// TestLoRAStepAllocatesNothing: a decoded token uses only kernels, even if adapters are absorbed.
func TestLoRAStepAllocatesNothing(t *testing.T) {
	d := Dims{Batch: 1, Context: 4, Embd: 8, Heads: 2, QK: 4, V: 4, Blocks: 1}
	for name, layer := range map[string]func(at Site) Cached{
		"attention": func(at Site) Cached { return NewSelfAttention(at) },
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

// TestMLADecodingAllocatesNothing once the cache exists.
func TestMLADecodingAllocatesNothing(t *testing.T) {
	d := Dims{Batch: 1, Context: 64, Embd: 64, Heads: 4, QK: 16, V: 16, Blocks: 1}
	for name, build := range map[string]func(at Site) Cached{"mla": newMLA, "with rope": newMLARotary} {
		g := graph.New(graph.Float32, 3)
		at := positioned(newSite(g, d), 1, 63)
		at.Caches = Caches{}
		pos := at.Ints("pos", 1, d.Context, -1)
		pos.Ints()[0] = 63
		p, err := graph.Compile(build(at).Step(at.Value("x", graph.Normal(1), 1, d.Embd), pos))
		if err != nil {
			t.Fatal(err)
		}
		run := func() {
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
		}
		run()
		if n := testing.AllocsPerRun(20, run); n != 0 {
			t.Errorf("%s: %v allocations a token", name, n)
		}
	}
}
