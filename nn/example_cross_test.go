package nn_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Two tokens of a target attend to a source of four, the last of which is padding: the numbers of queries and keys may
// differ. The values of the padding have no effect.
func ExampleCrossAttention() {
	g := graph.New(graph.Float64, 1)
	s := g.Root()
	d := nn.Dims{Batch: 1, Context: 2, Embd: 8, Heads: 2, QK: 4, V: 4, Blocks: 1}
	at := nn.Site{Scope: s.Sub("cross"), Dims: d, Affine: nn.NewLinear}

	x := s.Value("x", graph.Normal(1), 2, 8)
	z := s.Value("z", graph.Normal(1), 4, 8)
	memory := nn.NewMemory(s.Sub("memory"), z, 1, 2, 4, []int{3})
	y := nn.NewCrossAttention(at, memory).Forward(x)

	p, err := graph.Compile(y)
	if err != nil {
		fmt.Println(err)
		return
	}
	run := func() float64 {
		if err := p.Run(); err != nil {
			fmt.Println(err)
		}
		return p.Value().At(0)
	}
	before := run()
	z.Tensor().Set(3*8, 1000) // the padding
	padding := run()
	z.Tensor().Set(2*8, 1000) // the last word
	word := run()
	fmt.Println(y.Shape(), padding == before, word == before)
	for _, p := range g.Params() {
		fmt.Println(p.Name(), p.Tensor().Shape)
	}
	// Output:
	// [2 8] true false
	// cross.c_q.weight [8 8]
	// cross.c_kv.weight [8 16]
	// cross.c_proj.weight [8 8]
}

// A decoder's block attends to the target so far, then to the source, and then applies the MLP.
func ExampleDecoderBlock() {
	g := graph.New(graph.Float64, 1)
	s := g.Root()
	d := nn.Dims{Batch: 1, Context: 3, Embd: 8, Heads: 2, QK: 4, V: 4, Inner: 32, Blocks: 1}
	at := nn.Site{
		Scope: s.Sub("h.0"), Dims: d, Affine: nn.NewLinear, Bias: true, Eps: 1e-5,
		Mask: nn.NewMask(s, d, nn.Causal{}), Act: nn.GELU{},
	}
	attention := func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) }
	memory := nn.NewMemory(s.Sub("memory"), s.Value("z", graph.Normal(1), 5, 8), 1, 3, 5, nil)
	b := nn.NewDecoderBlock(at, attention, memory)

	y := b.Forward(s.Value("x", graph.Normal(1), 3, 8))
	fmt.Println(y.Shape(), g.Err())
	for _, p := range g.Params() {
		if name := p.Name(); len(p.Tensor().Shape) == 2 {
			fmt.Println(name, p.Tensor().Shape)
		}
	}
	// Output:
	// [3 8] <nil>
	// h.0.attn.c_attn.weight [8 24]
	// h.0.attn.c_proj.weight [8 8]
	// h.0.cross.c_q.weight [8 8]
	// h.0.cross.c_kv.weight [8 16]
	// h.0.cross.c_proj.weight [8 8]
	// h.0.mlp.c_fc.weight [8 32]
	// h.0.mlp.c_proj.weight [32 8]
}
