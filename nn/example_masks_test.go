package nn_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

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
