package nn_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Four heads of queries share the keys and values of two groups: heads 0 and 1 share the first group's, 2 and 3 the
// second's. The columns are 4·3 of queries, 2·3 of keys and 2·4 of values.
func ExampleGroupedAttention() {
	at := latentSite()
	at.Heads = 4
	nn.NewGroupedAttention(at.At("attn"), 2, true)
	parameters(at)
	// Output:
	// attn.c_attn.weight [8 26]
	// attn.c_attn.bias [26]
	// attn.c_proj.weight [16 8]
}

// Where the keys differ in nothing, each has the weight 1/(n+1) of the n keys so far. The values are 1, so a row shows
// the sum of its weights: 1/2, 2/3 and 3/4, where a softmax has 1.
func ExampleSigmoidAttention() {
	at := site()
	l := nn.NewSigmoidAttention(at.At("attn"))
	set(at.Graph(), map[string][]float64{
		"attn.c_attn.weight": {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1},
		"attn.c_proj.weight": {1, 0, 0, 1},
	})
	show(l.Forward(at.Value("x", graph.Const(1), 3, 2)))
	// Output:
	//   0.50  0.50
	//   0.67  0.67
	//   0.75  0.75
}

// Two heads share one value, and each has its own queries and keys. Both projections have the sizes of SelfAttention's.
func ExampleDiffAttention() {
	at := latentSite()
	at.Heads = 2
	nn.NewDiffAttention(at.At("attn"))
	parameters(at)
	// Output:
	// attn.c_attn.weight [8 20]
	// attn.c_proj.weight [8 8]
	// attn.lambda_q1 [3]
	// attn.lambda_k1 [3]
	// attn.lambda_q2 [3]
	// attn.lambda_k2 [3]
	// attn.norm.weight [8]
}

// All scores are 0, and so are the logits of the gates: a token counts half as much for each token after it. A row
// shows the share of the first token, then the others'.
func ExampleForgettingAttention() {
	at := site()
	l := nn.NewForgettingAttention(at.At("attn"))
	set(at.Graph(), map[string][]float64{
		"attn.c_attn.weight": {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1},
		"attn.c_proj.weight": {1, 0, 0, 1}, "attn.c_forget.weight": {0, 0},
	})
	x := at.Value("x", func(i int, _ *rand.Rand) float64 { return []float64{1, 0, 0, 1, 0, 1}[i] }, 3, 2)
	show(l.Forward(x))
	// Output:
	//   1.00  0.00
	//   0.33  0.67
	//   0.14  0.86
}

// The scores of the third token are 0, 707 and 1414, but the cap makes them 0, 1 and 1. Without it each token would
// attend to the largest score alone, its own.
func ExampleSelfAttention_cap() {
	at := site()
	at.Cap = 1
	l := nn.NewSelfAttention(at.At("attn"))
	set(at.Graph(), map[string][]float64{
		"attn.c_attn.weight": {0, 0, 1, 0, 1, 0, 1000, 0, 0, 0, 0, 0},
		"attn.c_proj.weight": {1, 0, 0, 1},
	})
	x := at.Value("x", func(i int, _ *rand.Rand) float64 { return []float64{0, 1, 1, 1, 2, 1}[i] }, 3, 2)
	show(l.Forward(x))
	// Output:
	//   0.00  0.00
	//   0.73  0.00
	//   1.27  0.00
}

// Two tokens of a target attend to a source of four, the last of which is padding: the numbers of queries and keys may
// differ. The values of the padding have no effect.
func ExampleCrossAttention() {
	g := graph.New(graph.Float64, 1)
	s := g.Root()
	d := nn.Dims{Batch: 1, Context: 2, Embd: 8, Heads: 2, QK: 4, V: 4, Blocks: 1}
	at := nn.Site{Scope: s.Sub("cross"), Dims: d, Style: nn.Style{Affine: nn.NewLinear}}

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
		Scope:     s.Sub("h.0"),
		Dims:      d,
		Style:     nn.Style{Affine: nn.NewLinear, Bias: true, Eps: 1e-5},
		Attending: nn.Attending{Mask: nn.NewMask(s, d, nn.Causal{})},
		Sublayers: nn.Sublayers{Act: nn.GELU{}},
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

// The weights are products of features: φ(1) = 2 and φ(0) = 1, so keys like the query weigh (2, 1)·(2, 1) = 5 and the
// other one (2, 1)·(1, 2) = 4. The last token attends to two of the former and one of the latter.
func ExampleLinearAttention() {
	at := site()
	l := nn.NewLinearAttention(at.At("attn"))
	set(at.Graph(), map[string][]float64{
		"attn.c_attn.weight": { // the columns of q, of k, of v
			1, 0, 1, 0, 14, 0,
			0, 1, 0, 1, 0, 14},
		"attn.c_proj.weight": {1, 0, 0, 1},
	})
	show(l.Forward(at.Value("x", numbers(1, 0, 0, 1, 1, 0), 3, 2)))
	// Output:
	//  14.00  0.00
	//   6.22  7.78
	//  10.00  4.00
}

// Step takes one token at a time and stores only two sums, for a text of any length.
func ExampleLinearAttention_Step() {
	at := site()
	at.Caches = nn.Caches{}
	l := nn.NewLinearAttention(at.At("attn"))
	set(at.Graph(), map[string][]float64{
		"attn.c_attn.weight": {
			1, 0, 1, 0, 14, 0,
			0, 1, 0, 1, 0, 14},
		"attn.c_proj.weight": {1, 0, 0, 1},
	})
	x, pos := at.Value("x", graph.Const(0), 1, 2), at.Ints("pos", 1, at.Context, -1)
	p, err := graph.Compile(l.Step(x, pos))
	if err != nil {
		log.Fatal(err)
	}
	for t, token := range [][]float64{{1, 0}, {0, 1}, {1, 0}} {
		pos.Ints()[0] = t
		fill(x, token...)
		if err := p.Run(); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.2f\n", p.Value().F64)
	}
	// Output:
	// [14.00 0.00]
	// [6.22 7.78]
	// [10.00 4.00]
}

// The weight of a key is 1 + cos of its angle to the query: 2 for a key like it, 1 at a right angle, 0 opposite.
func ExampleTaylorAttention() {
	at := site()
	at.Mask = nn.NewMask(at.Sub("own"), at.Dims, nn.All{})
	l := nn.NewTaylorAttention(at.At("attn"))
	set(at.Graph(), map[string][]float64{
		"attn.c_attn.weight": {
			1, 0, 1, 0, 1, 0,
			0, 1, 0, 1, 0, 1},
		"attn.c_proj.weight": {1, 0, 0, 1},
	})
	show(l.Forward(at.Value("x", numbers(3, 0, 0, 3, -3, 0), 3, 2))) // 2·(3, 0) + 1·(0, 3), over 3, in the first row
	// Output:
	//   2.00  1.00
	//   0.00  1.50
	//  -2.00  1.00
}

// Three tokens attend to two mixtures of them: the mean of the first two tokens, and the last.
func ExampleLinformer() {
	at := site()
	at.Mask = nn.NewMask(at.Sub("own"), at.Dims, nn.All{})
	l := nn.NewLinformer(at.At("attn"), 2)
	set(at.Graph(), map[string][]float64{
		"attn.c_attn.weight": {
			9, 0, 9, 0, 1, 0,
			0, 9, 0, 9, 0, 1},
		"attn.c_proj.weight": {1, 0, 0, 1},
		"attn.e.weight":      {0.5, 0.5, 0, 0, 0, 1},
		"attn.f.weight":      {0.5, 0.5, 0, 0, 0, 1},
	})
	show(l.Forward(at.Value("x", numbers(1, 0, 3, 0, 0, 4), 3, 2)))
	// Output:
	//   2.00  0.00
	//   2.00  0.00
	//   0.00  4.00
}

// positions returns at with n tokens at the positions 0, 1, 2, …
func positions(at nn.Site, n int) nn.Site {
	at.Positions = at.Ints("positions", n, at.Context, -1)
	for i := range at.Positions.Ints() {
		at.Positions.Ints()[i] = i
	}
	return at
}

// The same point in the plane at positions 0, 1 and 2: it is rotated by one radian per token and keeps its length.
func ExampleRoPE() {
	at := positions(site(), 3)
	rope := nn.NewRoPE(at.At("rope"), 2, 10000)
	show(rope.Forward(at.Value("x", numbers(1, 0, 1, 0, 1, 0), 3, 2)))
	// Output:
	//   1.00  0.00
	//   0.54  0.84
	//  -0.42  0.91
}

// Of four features, the first two rotate.
func ExampleNewPartialRoPE() {
	at := positions(site(), 3)
	at.Embd = 4
	rope := nn.NewPartialRoPE(at.At("rope"), 4, 2, 10000)
	show(rope.Forward(at.Value("x", numbers(1, 0, 5, 6, 1, 0, 5, 6, 1, 0, 5, 6), 3, 4)))
	// Output:
	//   1.00  0.00  5.00  6.00
	//   0.54  0.84  5.00  6.00
	//  -0.42  0.91  5.00  6.00
}

// Attention with rotary positions: all queries and keys are the same, so that only the distance counts, and near tokens
// weigh more. Rotary positions have no parameters.
func ExampleRoPE_Rotate() {
	at := positions(site(), 3)
	at.Rotary = nn.NewRoPE(at.At("rope"), at.QK, 10000)
	l := nn.NewSelfAttention(at.At("attn"))
	set(at.Graph(), map[string][]float64{
		"attn.c_attn.weight": { // the columns of q, of k, of v
			2, 0, 2, 0, 0, 0,
			0, 0, 0, 0, 1, 0},
		"attn.c_proj.weight": {1, 0, 0, 1},
	})
	show(l.Forward(at.Value("x", numbers(1, 600, 1, 60, 1, 6), 3, 2)))
	parameters(at)
	// Output:
	// 600.00  0.00
	// 175.63  0.00
	//  25.78  0.00
	// attn.c_attn.weight [2 6]
	// attn.c_proj.weight [2 2]
}

// latentSite returns a place in a new model with one sequence of 3 tokens, 8 features and two heads.
func latentSite() nn.Site {
	at := site()
	at.Embd, at.Heads, at.QK, at.V = 8, 2, 3, 4
	at.Caches = nn.Caches{}
	return positions(at, 3)
}

// parameters prints the names and shapes of the declared parameters.
func parameters(at nn.Site) {
	for _, p := range at.Graph().Params() {
		fmt.Println(p.Name(), p.Tensor().Shape)
	}
}

// Every head has one gate and one β, and stores 3 · 4 numbers for any number of tokens.
func ExampleRecurrence() {
	at := latentSite()
	nn.NewGatedDeltaNet(at.At("attn"))
	parameters(at)
	fmt.Println(at.Caches["attn"].Numbers(), "numbers")
	// Output:
	// attn.c_attn.weight [8 20]
	// attn.c_attn.conv.weight [80]
	// attn.c_decay.weight [8 2]
	// attn.c_decay.bias [2]
	// attn.c_decay.a_log [2]
	// attn.c_beta.weight [8 2]
	// attn.norm.weight [4]
	// attn.c_gate.weight [8 8]
	// attn.c_proj.weight [8 8]
	// 24 numbers
}

// Both heads share the queries and keys of one group, and have one time step each.
func ExampleMamba2() {
	at := latentSite()
	nn.NewMamba2(at.At("attn"), 1)
	parameters(at)
	fmt.Println(at.Caches["attn"].Numbers(), "numbers")
	// Output:
	// attn.c_attn.weight [8 14]
	// attn.c_attn.conv.weight [56]
	// attn.c_decay.weight [8 2]
	// attn.c_decay.bias [2]
	// attn.c_decay.a_log [2]
	// attn.d_skip [2]
	// attn.c_gate.weight [8 8]
	// attn.norm.weight [8]
	// attn.c_proj.weight [8 8]
	// 24 numbers
}

// The state of both heads is 8 numbers, which are stored with what is lost when they are rounded.
func ExampleMinGRU() {
	at := latentSite()
	nn.NewMinGRU(at.At("attn"))
	parameters(at)
	fmt.Println(at.Caches["attn"].Numbers(), "numbers")
	// Output:
	// attn.c_decay.weight [8 8]
	// attn.c_update.weight [8 8]
	// attn.c_proj.weight [8 8]
	// 16 numbers
}

// Besides the state of 8 numbers, a decoder stores the three tokens before the convolution.
func ExampleRGLRU() {
	at := latentSite()
	nn.NewRGLRU(at.At("attn"))
	parameters(at)
	fmt.Println(at.Caches["attn"].Numbers(), "and", at.Caches["attn.c_attn.conv"].Numbers(), "numbers")
	// Output:
	// attn.c_attn.conv.weight [32]
	// attn.c_attn.weight [8 8]
	// attn.c_decay.weight [8 8]
	// attn.c_decay.lambda [8]
	// attn.c_update.weight [8 8]
	// attn.c_gate.weight [8 8]
	// attn.c_proj.weight [8 8]
	// 16 and 24 numbers
}

// A latent has 2 numbers per token, from which the keys and values of both heads are computed.
func ExampleMLA() {
	at := latentSite()
	nn.NewMLA(at.At("attn"), 2)
	parameters(at)
	// Output:
	// attn.c_q.weight [8 6]
	// attn.c_kv_down.weight [8 2]
	// attn.c_k_up.weight [2 6]
	// attn.c_v_up.weight [2 8]
	// attn.c_proj.weight [8 8]
}

// Decoding stores only the latent, 2 numbers per token; keys and values would be 14.
func ExampleMLA_Step() {
	at := latentSite()
	l := nn.NewMLA(at.At("attn"), 2)
	x := at.Value("x", graph.Normal(1), 3, 8)
	all := l.Forward(x)
	token, pos := at.Value("token", graph.Const(0), 1, 8), at.Ints("pos", 1, at.Context, -1)
	one := l.Step(token, pos)
	var programs [2]*graph.Program
	for i, y := range []graph.Expr{all, one} {
		p, err := graph.Compile(y)
		if err != nil {
			log.Fatal(err)
		}
		programs[i] = p
	}
	if err := programs[0].Run(); err != nil {
		log.Fatal(err)
	}
	want := programs[0].Value().Clone()
	for t := range 3 {
		pos.Ints()[0] = t
		fill(token, x.Tensor().Row(t).Floats()...)
		if err := programs[1].Run(); err != nil {
			log.Fatal(err)
		}
		var off float64
		for i, v := range programs[1].Value().F64 {
			off = max(off, v-want.Row(t).F64[i], want.Row(t).F64[i]-v)
		}
		fmt.Println("token", t, "the same:", off < 1e-12)
	}
	fmt.Println(at.Caches.Bytes()/8, "numbers for 3 tokens")
	// Output:
	// token 0 the same: true
	// token 1 the same: true
	// token 2 the same: true
	// 6 numbers for 3 tokens
}

// Queries and keys have 4 additional rotated features; both heads share the rotated part of the key.
func ExampleMLARoPE() {
	at := latentSite()
	nn.NewMLARoPE(at.At("attn"), 2, 5, 4, 10000)
	parameters(at)
	// Output:
	// attn.c_q_down.weight [8 5]
	// attn.c_q_up.weight [5 6]
	// attn.c_q_rope.weight [5 8]
	// attn.c_kv_down.weight [8 2]
	// attn.c_k_up.weight [2 6]
	// attn.c_k_rope.weight [8 4]
	// attn.c_v_up.weight [2 8]
	// attn.c_proj.weight [8 8]
}

// The rotated part of the key is computed from the latent: c_k_rope has 2 inputs, not 8.
func ExampleMLALatentRoPE() {
	at := latentSite()
	nn.NewMLALatentRoPE(at.At("attn"), 2, 5, 4, 10000)
	parameters(at)
	// Output:
	// attn.c_q_down.weight [8 5]
	// attn.c_q_up.weight [5 6]
	// attn.c_q_rope.weight [5 8]
	// attn.c_kv_down.weight [8 2]
	// attn.c_k_up.weight [2 6]
	// attn.c_k_rope.weight [2 4]
	// attn.c_v_up.weight [2 8]
	// attn.c_proj.weight [8 8]
}

// picture prints which query attends to which key in the first sequence, with the heads side by side. It has a row for
// every query, and · for a hidden key.
func picture(d nn.Dims, rule nn.Visibility) {
	m := nn.NewMask(graph.New(graph.Float32, 1).Root(), d, rule)
	t, n := m.Expr().Tensor(), d.Context
	heads := t.Len() / (n * n)
	for i := range n {
		for h := range heads {
			if h > 0 {
				fmt.Print("  ")
			}
			for j := range n {
				fmt.Print(map[bool]string{true: " x", false: " ·"}[t.At((h*n+i)*n+j) == 0])
			}
		}
		fmt.Println()
	}
}

// A window of one key to each side, the global token 0, and one random key.
func ExampleBigBird() {
	picture(nn.Dims{Batch: 1, Context: 7}, nn.BigBird{Width: 3, Global: []int{0}, Random: 1, Seed: 4})
	// Output:
	//  x x x x x x x
	//  x x x · · · x
	//  x x x x x · ·
	//  x x x x x · ·
	//  x · · x x x x
	//  x x · · x x x
	//  x · · · x x x
}

// The first token stays visible beside a window of two tokens.
func ExampleSinkWindow() {
	d := nn.Dims{Batch: 1, Context: 6, Heads: 1}
	picture(d, nn.SinkWindow{Width: 2, Sinks: 1})
	// Output:
	//  x · · · · ·
	//  x x · · · ·
	//  x x x · · ·
	//  x · x x · ·
	//  x · · x x ·
	//  x · · · x x
}

// Head 0 attends to neighbours, head 1 to every other token and so twice as far.
func ExampleDilated() {
	d := nn.Dims{Batch: 1, Context: 7, Heads: 2}
	picture(d, nn.All{nn.Causal{}, nn.Dilated{Width: 4, Dilation: []int{1, 2}}})
	// Output:
	//  x · · · · · ·   x · · · · · ·
	//  x x · · · · ·   · x · · · · ·
	//  x x x · · · ·   x · x · · · ·
	//  · x x x · · ·   · x · x · · ·
	//  · · x x x · ·   x · x · x · ·
	//  · · · x x x ·   · x · x · x ·
	//  · · · · x x x   · · x · x · x
}

// The bias of each head for the last query: the first head soon attends to a few tokens only.
func ExampleALiBi() {
	a := nn.NewALiBi(4)
	for head, slope := range a.Slopes {
		fmt.Printf("%.4f:", slope)
		for j := range 5 {
			fmt.Printf(" %.4f", a.Bias(head, 4, j))
		}
		fmt.Println()
	}
	// Output:
	// 0.2500: -1.0000 -0.7500 -0.5000 -0.2500 0.0000
	// 0.0625: -0.2500 -0.1875 -0.1250 -0.0625 0.0000
	// 0.0156: -0.0625 -0.0469 -0.0312 -0.0156 0.0000
	// 0.0039: -0.0156 -0.0117 -0.0078 -0.0039 0.0000
}

// Token 1 is global: it and the others attend to each other with keys and values from c_attn_global, here 10 times as
// large. Token 2 attends to itself and token 1, half each, as queries of 0 have no preference.
func ExampleLongformer() {
	at := site()
	mask := nn.NewLongformerMask(at.Scope, at.Mask, nn.Dilated{Width: 1, Dilation: []int{1}, Global: []int{1}})
	l := nn.NewLongformer(at, mask)
	values := []float64{0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1} // x·w is [q | k | v]: queries and keys 0, v = x
	global := make([]float64, len(values))
	for i, v := range values {
		global[i] = 10 * v
	}
	set(at.Graph(), map[string][]float64{
		"c_attn.weight": values, "c_attn_global.weight": global, "c_proj.weight": {1, 0, 0, 1},
	})
	show(l.Forward(at.Value("x", numbers(1, 0, 2, 0, 3, 1), 3, 2)))
	// Output:
	//   1.00  0.00
	//  15.00  0.00
	//  11.50  0.50
}

// Two similar tokens attend to each other more than to the third.
func ExampleUnprojected() {
	at := site()
	at.Mask = nn.NewMask(at.Sub("nothing"), at.Dims, nn.All{})
	show(nn.NewUnprojected(at).Forward(at.Value("x", numbers(3, 0, 3, 0.1, 0, 3), 3, 2)))
	// Output:
	//   3.00  0.05
	//   3.00  0.05
	//   0.01  2.99
}

// The decoder's tokens are mixtures of the encoder's.
func ExampleUnprojectedCross() {
	at := site()
	z := at.Value("z", numbers(9, 0, 0, 9), 2, 2)
	m := nn.NewMemory(at.Sub("memory"), z, 1, 3, 2, nil)
	show(nn.NewUnprojectedCross(at, m).Forward(at.Value("x", numbers(1, 0, 0, 1, 1, 1), 3, 2)))
	// Output:
	//   8.98  0.02
	//   0.02  8.98
	//   4.50  4.50
}

// placed is site with the positions 0, 1 and 2.
func placed() nn.Site {
	at := site()
	at.Positions = at.Ints("positions", 3, 3, -1)
	copy(at.Positions.Ints(), []int{0, 1, 2})
	return at
}

// The table has a row for every position.
func ExampleLearnedPositions() {
	at := placed()
	l := nn.NewLearnedPositions(at.At("wpe"))
	set(at.Graph(), map[string][]float64{"wpe.weight": {10, 0, 20, 0, 30, 0}})
	show(l.Forward(at.Value("x", numbers(1, 1, 2, 2, 3, 3), 3, 2)))
	// Output:
	//  11.00  1.00
	//  22.00  2.00
	//  33.00  3.00
}

// Two features are one pair, which is rotated by one radian per token, around the embedding times √2.
func ExampleSinusoidal() {
	at := placed()
	show(nn.NewSinusoidal(at, 10000).Forward(at.Value("x", numbers(0, 0, 0, 0, 1, 1), 3, 2)))
	// Output:
	//   0.00  1.00
	//   0.84  0.54
	//   2.32  1.00
}

// blocks lets tokens attend within groups of Size, such as the rows of an image.
type blocks struct{ Size int }

// Visible reports whether ⌊i/Size⌋ = ⌊j/Size⌋.
func (v blocks) Visible(_, i, j int) bool { return i/v.Size == j/v.Size }

// Check returns an error for a size that does not divide the context.
func (v blocks) Check(d nn.Dims) error {
	if v.Size < 1 || d.Context%v.Size != 0 {
		return fmt.Errorf("groups of %d do not divide %d tokens", v.Size, d.Context)
	}
	return nil
}

// A user-defined Visibility may refuse sizes, even inside a nested All.
func ExampleChecker() {
	rule := nn.All{nn.Causal{}, nn.All{blocks{3}}}
	picture(nn.Dims{Batch: 1, Context: 6}, rule)
	g := graph.New(graph.Float32, 1)
	nn.NewMask(g.Root().Sub("h.0"), nn.Dims{Batch: 1, Context: 7}, rule)
	fmt.Println(g.Err())
	// Output:
	//  x · · · · ·
	//  x x · · · ·
	//  x x x · · ·
	//  · · · x · ·
	//  · · · x x ·
	//  · · · x x x
	// h.0.mask: groups of 3 do not divide 7 tokens
}
