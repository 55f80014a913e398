package nn_test

import (
	"fmt"
	"log"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

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
