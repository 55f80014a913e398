package nn_test

import (
	"fmt"
	"log"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// For a token of small variance, ε counts fully outside the root, but is effectively squared inside it.
func ExampleLayerNormSigma() {
	at := site()
	at.Embd, at.Eps = 4, 0.01
	x := at.Value("x", numbers(1, 2, 3, 4, 0.01, 0.02, 0.03, 0.04), 2, 4)
	show(nn.NewLayerNormSigma(at.At("beside")).Forward(x))
	fmt.Println()
	show(nn.NewLayerNorm(at.At("inside")).Forward(x))
	// Output:
	//  -1.33 -0.44  0.44  1.33
	//  -0.71 -0.24  0.24  0.71
	//
	//  -1.34 -0.45  0.45  1.34
	//  -0.15 -0.05  0.05  0.15
}

// The layer has no parameters: it only centres and scales. As a site's Norm it takes the place of every norm of a
// block.
func ExampleLayerNormPlain() {
	at := site()
	show(nn.NewLayerNormPlain(at).Forward(at.Value("x", numbers(1, 5, 6, 2), 2, 2)))
	at.Norm = func(at nn.Site) nn.Layer { return nn.NewLayerNormPlain(at) }
	nn.NewBlock(at.At("h.0"), func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) })
	for _, p := range at.Graph().Params() {
		fmt.Println(p.Name())
	}
	// Output:
	//  -1.00  1.00
	//   1.00 -1.00
	// h.0.attn.c_attn.weight
	// h.0.attn.c_proj.weight
	// h.0.mlp.c_fc.weight
	// h.0.mlp.c_proj.weight
}

// A layer with memory: a 1 in the input is still visible later, but decays.
func ExampleElman() {
	at := site()
	l := nn.NewElman(at.At("rnn"))
	set(at.Graph(), map[string][]float64{
		"rnn.c_input.weight": {1, 0, 0, 1},
		"rnn.weight": { // half of the first feature stays, and the second feature receives the first
			0.5, 1,
			0, 0},
	})
	show(l.Forward(at.Value("x", numbers(1, 0, 0, 0, 0, 0), 3, 2)))
	// Output:
	//   0.76  0.00
	//   0.36  0.64
	//   0.18  0.35
}

// Step takes one token at a time and continues from the state: earlier tokens are not computed again.
func ExampleElman_Step() {
	at := site()
	at.Caches = nn.Caches{}
	l := nn.NewElman(at.At("rnn"))
	set(at.Graph(), map[string][]float64{"rnn.c_input.weight": {1, 0, 0, 1}, "rnn.weight": {0.5, 1, 0, 0}})
	x, position := at.Value("x", graph.Const(0), 1, 2), at.Ints("seen", 1, at.Context, -1)
	p, err := graph.Compile(l.Step(x, position))
	if err != nil {
		log.Fatal(err)
	}
	for t, token := range [][]float64{{1, 0}, {0, 0}, {0, 0}} {
		position.Ints()[0] = t
		fill(x, token...)
		if err := p.Run(); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.2f\n", p.Value().F64)
	}
	// Output:
	// [0.76 0.00]
	// [0.36 0.64]
	// [0.18 0.35]
}

// The norm removes only the size of a token: its mean stays, and proportional tokens give the same result.
func ExampleRMSNorm() {
	at := site()
	at.Embd, at.Eps, at.Bias = 3, 0, true
	l := nn.NewRMSNorm(at.At("ln"))
	show(l.Forward(at.Value("x", numbers(1, 2, 3, 10, 20, 30), 2, 3)))
	for _, p := range at.Graph().Params() {
		fmt.Println(p.Name())
	}
	// Output:
	//   0.46  0.93  1.39
	//   0.46  0.93  1.39
	// ln.weight
}
