package nn_test

import (
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// numbers initialises a parameter or an input with the given entries.
func numbers(x ...float64) graph.Init { return func(i int, _ *rand.Rand) float64 { return x[i] } }

// show computes y and prints it, with a line for every row.
func show(y graph.Expr) {
	p, err := graph.Compile(y)
	if err != nil {
		log.Fatal(err)
	}
	if err := p.Run(); err != nil {
		log.Fatal(err)
	}
	v := p.Value()
	cols := v.Len()
	if len(v.Shape) > 0 {
		cols = v.Shape[len(v.Shape)-1]
	}
	for i, x := range v.Floats() {
		fmt.Printf("%6.2f", x)
		if i%cols == cols-1 {
			fmt.Println()
		}
	}
}

// site returns a place in a new model with one sequence of 3 tokens, 2 features and one head.
func site() nn.Site {
	g := graph.New(graph.Float64, 1)
	d := nn.Dims{Batch: 1, Context: 3, Embd: 2, Heads: 1, QK: 2, V: 2, Inner: 4, Blocks: 1}
	return nn.Site{
		Scope:     g.Root(),
		Dims:      d,
		Style:     nn.Style{Affine: nn.NewLinear, Eps: 1e-5},
		Attending: nn.Attending{Mask: nn.NewMask(g.Root(), d, nn.Causal{})},
		Sublayers: nn.Sublayers{Act: nn.GELU{}},
	}
}

// set overwrites the named parameters.
func set(g *graph.Graph, to map[string][]float64) {
	for _, p := range g.Params() {
		for i, v := range to[p.Name()] {
			p.Tensor().Set(i, v)
		}
	}
}

func ExampleLinear() {
	s := graph.New(graph.Float64, 1).Root()
	x := s.Value("x", numbers(1, 10), 1, 2)
	l := nn.NewLinear(s.Sub("fc"), 2, []int{3}, true, numbers(
		1, 2, 3,
		4, 5, 6))
	show(l.Forward(x))
	for _, p := range s.Graph().Params() {
		fmt.Println(p.Name(), p.Tensor().Shape)
	}
	// Output:
	//  41.00 52.00 63.00
	// fc.weight [2 3]
	// fc.bias [3]
}

// The head computes logits with the embedding's own table: the token whose row is most aligned with x wins.
func ExampleTied() {
	s := graph.New(graph.Float64, 1).Root()
	wte := nn.NewEmbedding(s.Sub("wte"), 3, 2)
	set(s.Graph(), map[string][]float64{"wte.weight": {1, 0, 0, 1, 1, 1}})
	x := s.Value("x", numbers(2, 5), 1, 2)
	show(nn.NewTied(s.Sub("lm_head"), wte).Forward(x))
	// Output:
	//   2.00  5.00  7.00
}

func ExampleEmbedding() {
	s := graph.New(graph.Float64, 1).Root()
	ids := s.Ints("tokens", 4, 3, -1)
	copy(ids.Ints(), []int{2, 0, 0, 1})
	e := nn.NewEmbedding(s.Sub("wte"), 3, 2)
	set(s.Graph(), map[string][]float64{"wte.weight": {0, 0.5, 10, 10.5, 20, 20.5}})
	show(e.Forward(ids))
	// Output:
	//  20.00 20.50
	//   0.00  0.50
	//   0.00  0.50
	//  10.00 10.50
}

func ExampleLayerNorm() {
	at := site()
	at.Embd = 4
	x := at.Value("x", numbers(1, 2, 3, 4, 10, 20, 30, 40), 2, 4)
	show(nn.NewLayerNorm(at).Forward(x)) // the mean and the scale of a row are removed
	// Output:
	//  -1.34 -0.45  0.45  1.34
	//  -1.34 -0.45  0.45  1.34
}

func ExampleGELU() {
	x := site().Value("x", numbers(-3, -1, 0, 1, 3), 1, 5)
	show(nn.GELU{}.Forward(x))
	// Output:
	//   -0.00 -0.16  0.00  0.84  3.00
}

func ExampleGELUTanh() {
	x := site().Value("x", numbers(-3, -1, 0, 1, 3), 1, 5)
	show(nn.GELUTanh{}.Forward(x))
	// Output:
	//   -0.00 -0.16  0.00  0.84  3.00
}

func ExampleReLU() {
	x := site().Value("x", numbers(-3, -1, 0, 1, 3), 1, 5)
	show(nn.ReLU{}.Forward(x))
	// Output:
	//   0.00  0.00  0.00  1.00  3.00
}

func ExampleSoftCap() {
	x := site().Value("x", numbers(-300, -1, 0, 1, 30), 1, 5)
	show(nn.SoftCap{Cap: 30}.Forward(x))
	// Output:
	//  -30.00 -1.00  0.00  1.00 22.85
}

func ExampleReLU2() {
	x := site().Value("x", numbers(-3, -1, 0, 1, 3), 1, 5)
	show(nn.ReLU2{}.Forward(x))
	// Output:
	//   0.00  0.00  0.00  1.00  9.00
}

// A feed-forward layer that computes |x| = relu(x) + relu(−x).
func ExampleMLP() {
	at := site()
	at.Act = nn.ReLU{}
	l := nn.NewMLP(at.At("mlp"))
	set(at.Graph(), map[string][]float64{
		"mlp.c_fc.weight": {
			1, -1, 0, 0,
			0, 0, 1, -1},
		"mlp.c_proj.weight": {
			1, 0,
			1, 0,
			0, 1,
			0, 1},
	})
	show(l.Forward(at.Value("x", numbers(-5, 7, 3, -2), 2, 2)))
	// Output:
	//   5.00  7.00
	//   3.00  2.00
}

// One gate is open, for twice the first feature, and one is closed.
func ExampleGLU() {
	at := site()
	l := nn.NewGLU(at.At("mlp"), nn.SiLU{})
	set(at.Graph(), map[string][]float64{
		"mlp.c_gate.weight": {
			0, 0, 0, 0,
			1, -1, 0, 0},
		"mlp.c_fc.weight": {
			2, 2, 0, 0,
			0, 0, 0, 0},
		"mlp.c_proj.weight": {
			1, 0,
			0, 1,
			0, 0,
			0, 0},
	})
	show(l.Forward(at.Value("x", numbers(3, 10), 1, 2)))
	// Output:
	//  60.00 -0.00
}

// Entries are dropped in training only, and the others are scaled so that the mean stays the same.
func ExampleDropout() {
	at := site()
	at.Dropout = 0.5
	y := nn.NewDropout(at.At("drop")).Forward(at.Value("x", graph.Const(1), 1, 8))
	show(y)
	at.Graph().SetTraining(false)
	show(y)
	// Output:
	//   0.00  2.00  2.00  2.00  2.00  2.00  0.00  2.00
	//   1.00  1.00  1.00  1.00  1.00  1.00  1.00  1.00
}

// With queries of 0 every visible key has the same weight, so a token becomes the mean of itself and those before it.
func ExampleSelfAttention() {
	at := site()
	l := nn.NewSelfAttention(at.At("attn"))
	set(at.Graph(), map[string][]float64{
		"attn.c_attn.weight": { // the columns of q, of k, of v
			0, 0, 1, 0, 1, 0,
			0, 0, 0, 1, 0, 1},
		"attn.c_proj.weight": {1, 0, 0, 1},
	})
	show(l.Forward(at.Value("x", numbers(6, 0, 0, 6, 0, 0), 3, 2)))
	// Output:
	//   6.00  0.00
	//   3.00  3.00
	//   2.00  2.00
}

// Step takes one token at a time and stores the keys and values of earlier tokens.
func ExampleSelfAttention_Step() {
	at := site()
	at.Caches = nn.Caches{} // the caches of a decoder's layers
	l := nn.NewSelfAttention(at.At("attn"))
	set(at.Graph(), map[string][]float64{
		"attn.c_attn.weight": {
			0, 0, 1, 0, 1, 0,
			0, 0, 0, 1, 0, 1},
		"attn.c_proj.weight": {1, 0, 0, 1},
	})
	x, pos := at.Value("x", graph.Const(0), 1, 2), at.Ints("pos", 1, at.Context, -1)
	p, err := graph.Compile(l.Step(x, pos))
	if err != nil {
		log.Fatal(err)
	}
	for t, token := range [][]float64{{6, 0}, {0, 6}, {0, 0}} {
		pos.Ints()[0] = t
		fill(x, token...)
		if err := p.Run(); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.2f\n", p.Value().F64)
	}
	// Output:
	// [6.00 0.00]
	// [3.00 3.00]
	// [2.00 2.00]
}

// Which query attends to which key: each query has a row, with · for a hidden key.
func ExampleMask() {
	d := nn.Dims{Batch: 2, Context: 4}
	for _, rule := range []nn.Visibility{
		nn.Causal{},
		nn.Window{Width: 2},
		nn.All{nn.Causal{}, nn.Padding{Lengths: []int{4, 2}}},
	} {
		m := nn.NewMask(graph.New(graph.Float32, 1).Root(), d, rule)
		t := m.Expr().Tensor()
		fmt.Printf("%T %v\n", rule, t.Shape)
		for i := range t.Len() {
			fmt.Print(map[bool]string{true: " x", false: " ·"}[t.At(i) == 0])
			if i%d.Context == d.Context-1 {
				fmt.Println()
			}
		}
	}
	// Output:
	// nn.Causal [4 4]
	//  x · · ·
	//  x x · ·
	//  x x x ·
	//  x x x x
	// nn.Window [4 4]
	//  x · · ·
	//  x x · ·
	//  · x x ·
	//  · · x x
	// nn.All [2 4 4]
	//  x · · ·
	//  x x · ·
	//  x x x ·
	//  x x x x
	//  x · · ·
	//  x x · ·
	//  x x · ·
	//  x x · ·
}

// A block whose two sublayers write nothing is the identity: the residual stream bypasses them.
func ExampleBlock() {
	at := site()
	b := nn.NewBlock(at.At("h.0"), func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) })
	set(at.Graph(), map[string][]float64{
		"h.0.attn.c_proj.weight": make([]float64, 4), "h.0.mlp.c_proj.weight": make([]float64, 8),
	})
	show(b.Forward(at.Value("x", numbers(1, 5, 2, 6, 3, 7), 3, 2)))
	for _, p := range at.Graph().Params() {
		fmt.Println(p.Name(), p.Tensor().Shape)
	}
	// Output:
	//   1.00  5.00
	//   2.00  6.00
	//   3.00  7.00
	// h.0.ln_1.weight [2]
	// h.0.attn.c_attn.weight [2 6]
	// h.0.attn.c_proj.weight [2 2]
	// h.0.ln_2.weight [2]
	// h.0.mlp.c_fc.weight [2 4]
	// h.0.mlp.c_proj.weight [4 2]
}

// With the norm after each sublayer the result is normalised for every input.
func ExamplePostNormBlock() {
	at := site()
	b := nn.NewPostNormBlock(at.At("h.0"), func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) })
	set(at.Graph(), map[string][]float64{
		"h.0.attn.c_proj.weight": make([]float64, 4), "h.0.mlp.c_proj.weight": make([]float64, 8),
	})
	show(b.Forward(at.Value("x", numbers(1, 5, 2, 6, 7, 3), 3, 2)))
	// Output:
	//  -1.00  1.00
	//  -1.00  1.00
	//   1.00 -1.00
}

// With a norm after each sublayer its result has the size 1 however large its weights are.
func ExampleSandwichBlock() {
	at := site()
	b := nn.NewSandwichBlock(at.At("h.0"), func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) })
	set(at.Graph(), map[string][]float64{
		"h.0.attn.c_attn.weight": {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1}, "h.0.attn.c_proj.weight": {900, 0, 0, 900},
		"h.0.mlp.c_proj.weight": make([]float64, 8),
	})
	show(b.Forward(at.Value("x", numbers(1, 5, 2, 6, 3, 7), 3, 2)))
	// Output:
	//   0.00  6.00
	//   1.00  7.00
	//   2.00  8.00
}

// Queries of 0 attend to all earlier tokens alike, and the norm brings the mean of their values to the size 1.
func ExamplePostPartBlock() {
	at := site()
	b := nn.NewPostPartBlock(at.At("h.0"), func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) })
	set(at.Graph(), map[string][]float64{
		"h.0.attn.c_attn.weight": {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1}, "h.0.attn.c_proj.weight": {1, 0, 0, 1},
		"h.0.mlp.c_proj.weight": make([]float64, 8),
	})
	show(b.Forward(at.Value("x", numbers(1, 5, 2, 6, 3, 7), 3, 2)))
	// Output:
	//   0.00  6.00
	//   1.00  7.00
	//   2.00  8.00
}

// Both sublayers read the result of one norm.
func ExampleParallelBlock() {
	at := site()
	nn.NewParallelBlock(at.At("h.0"), func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) })
	for _, p := range at.Graph().Params() {
		fmt.Println(p.Name(), p.Tensor().Shape)
	}
	// Output:
	// h.0.ln_1.weight [2]
	// h.0.attn.c_attn.weight [2 6]
	// h.0.attn.c_proj.weight [2 2]
	// h.0.mlp.c_fc.weight [2 4]
	// h.0.mlp.c_proj.weight [4 2]
}

// With projections of 0 the block is the identity.
func ExampleParallelTwoBlock() {
	at := site()
	b := nn.NewParallelTwoBlock(at.At("h.0"), func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) })
	set(at.Graph(), map[string][]float64{
		"h.0.attn.c_proj.weight": make([]float64, 4), "h.0.mlp.c_proj.weight": make([]float64, 8),
	})
	show(b.Forward(at.Value("x", numbers(1, 5, 2, 6, 3, 7), 3, 2)))
	// Output:
	//   1.00  5.00
	//   2.00  6.00
	//   3.00  7.00
}

// A frozen layer and its adapter: only the thin matrices are trained, because Compile differentiates only by them.
func ExampleLoRA() {
	s := graph.New(graph.Float64, 1).Root()
	everywhere := func(string) bool { return true }
	l := nn.NewLoRA(everywhere, 1, 0.5)(s.Sub("fc"), 2, []int{2}, false, numbers(1, 0, 0, 1)).(*nn.LoRA)
	x := s.Value("x", numbers(3, 4), 1, 2)
	y := l.Forward(x)
	show(y) // u starts at 0: only the base
	fill(l.Adapters[0].Down, 1, 1)
	fill(l.Adapters[0].Up, 2, -2)
	show(y)
	p, err := graph.Compile(y.SumAll(), l.Adapters[0].Down, l.Adapters[0].Up)
	if err != nil {
		log.Fatal(err)
	}
	if err := p.Run(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("gradient of u:", p.Grad(l.Adapters[0].Up).F64)
	fmt.Println("gradient of the frozen weight:", p.Grad(l.Base.Weight).F64)
	// Output:
	//   3.00  4.00
	//  10.00 -3.00
	// gradient of u: [3.5 3.5]
	// gradient of the frozen weight: []
}

// Merging writes the adapter into the weight: the same function without its cost.
func ExampleLoRA_Merge() {
	s := graph.New(graph.Float64, 1).Root()
	everywhere := func(string) bool { return true }
	l := nn.NewLoRA(everywhere, 1, 0.5)(s.Sub("fc"), 2, []int{2}, false, numbers(1, 0, 0, 1)).(*nn.LoRA)
	fill(l.Adapters[0].Down, 1, 1)
	fill(l.Adapters[0].Up, 2, -2)
	y := l.Forward(s.Value("x", numbers(3, 4), 1, 2))
	show(y)
	l.Merge()
	show(y)
	fmt.Println(l.Base.Weight.Tensor().F64, l.Adapters[0].Up.Tensor().F64)
	// Output:
	//  10.00 -3.00
	//  10.00 -3.00
	// [2 -1 1 0] [0 0]
}

// Uniform logits cost ln V per token; a target with the ignored id costs nothing and is not counted.
func ExampleCrossEntropy() {
	s := graph.New(graph.Float64, 1).Root()
	logits := s.Value("logits", graph.Const(7), 3, 10)
	targets := s.Ints("targets", 3, 10, -100)
	copy(targets.Ints(), []int{4, 9, -100})
	mean := nn.NewCrossEntropy(s.Sub("mean"))
	sum := nn.NewCrossEntropy(s.Sub("sum"))
	sum.Sum = true
	show(mean.Forward(logits, targets))
	show(sum.Forward(logits, targets))
	fmt.Printf("%6.2f\n", math.Log(10))
	// Output:
	//   2.30
	//   4.61
	//   2.30
}

// Smoothed labels make it costly to be certain, and the z-loss to have large logits.
func ExampleCrossEntropy_regularised() {
	s := graph.New(graph.Float64, 1).Root()
	logits := s.Value("logits", numbers(9, 0, 0, 0), 1, 4)
	targets := s.Ints("targets", 1, 4, -100)
	plain, smoothed := nn.NewCrossEntropy(s.Sub("plain")), nn.NewCrossEntropy(s.Sub("smoothed"))
	z := nn.NewCrossEntropy(s.Sub("z"))
	smoothed.Smoothing, z.ZLoss = 0.1, 0.01
	show(plain.Forward(logits, targets))
	show(smoothed.Forward(logits, targets))
	show(z.Forward(logits, targets))
	// Output:
	//   0.00
	//   0.68
	//   0.81
}

// The second head predicts the token after the next one, for which the last token of a sequence has no target.
func ExampleMultiToken() {
	s := graph.New(graph.Float64, 1).Root()
	next := s.Value("next", numbers(9, 0, 0, 0, 9, 0, 0, 0, 9), 3, 3)   // 0, 1, 2
	after := s.Value("after", numbers(0, 9, 0, 0, 0, 9, 0, 0, 0), 3, 3) // 1, 2, and nothing
	wrong := s.Value("wrong", numbers(9, 0, 0, 0, 9, 0, 0, 0, 9), 3, 3) // 0, 1, 2
	targets := s.Ints("targets", 3, 3, -100)
	copy(targets.Ints(), []int{0, 1, 2})
	loss := nn.NewMultiToken(s.Sub("loss"), 3)
	show(loss.Forward([]graph.Expr{next, after}, targets))
	show(loss.Forward([]graph.Expr{next, wrong}, targets))
	// Output:
	//   0.00
	//   4.50
}

// fill sets the entries of an input.
func fill(x graph.Expr, numbers ...float64) {
	if err := x.Tensor().Fill(numbers...); err != nil {
		log.Fatal(err)
	}
}
