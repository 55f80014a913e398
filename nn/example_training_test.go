package nn_test

import (
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Two linear layers with SiLU between them learn a function of one number from its values at 64 points.
func Example_regression() {
	const n, hidden = 64, 32
	g := graph.New(graph.Float32, 1)
	s := g.Root()
	x, y := s.Value("x", graph.Const(0), n, 1), s.Value("y", graph.Const(0), n, 1)
	f := func(x float64) float64 { return math.Sin(2 * x) }

	in := nn.NewLinear(s.Sub("in"), 1, []int{hidden}, true, graph.Normal(2))
	out := nn.NewLinear(s.Sub("out"), hidden, []int{1}, true, graph.Normal(0.1))
	guess := out.Forward(nn.SiLU{}.Forward(in.Forward(x))) // (n, 1)
	train, err := graph.Compile(nn.NewSquaredError(s.Sub("loss")).Forward(guess, y), g.Params()...)
	test, err2 := graph.Compile(guess)
	adam, err3 := optim.New(g.Params(), optim.AdamW{Beta1: 0.9, Beta2: 0.999})
	for i := range n {
		place := 4*float64(i)/(n-1) - 2 // from −2 to 2
		x.Tensor().Set(i, place)
		y.Tensor().Set(i, f(place))
	}
	for step := 0; step < 1000 && err == nil; step++ {
		if err = train.Run(); err == nil {
			_, err = adam.Update(train, 0.02)
		}
	}
	for i := range n { // between the points of the training
		x.Tensor().Set(i, x.Tensor().At(i)*0.97)
	}
	if err = errors.Join(err, err2, err3, test.Run()); err != nil {
		log.Fatal(err)
	}
	worst := 0.0
	for i, got := range test.Value().Floats() {
		worst = max(worst, math.Abs(got-f(x.Tensor().At(i))))
	}
	fmt.Println("nowhere more than 0.1 off:", worst < 0.1)
	// Output: nowhere more than 0.1 off: true
}

// This is a small Vision Transformer (Dosovitskiy et al. 2020). An image of 8×8 pixels is 16 tokens, patches of 2×2,
// embedded by a linear layer. Every patch attends to every other one, and their mean classifies the image.
func Example_classifier() {
	const batch, patches, pixels, classes = 32, 16, 4, 4
	g := graph.New(graph.Float32, 1)
	d := nn.Dims{Batch: batch, Context: patches, Embd: 16, Heads: 2, QK: 8, V: 8, Inner: 32, Blocks: 1}
	at := nn.Site{
		Scope: g.Root(), Dims: d, Style: nn.Style{Eps: 1e-5}, Sublayers: nn.Sublayers{Act: nn.GELU{}},
		Attending: nn.Attending{Mask: nn.NewMask(g.Root(), d, nn.All{})},
	}
	at.Positions = at.Ints("positions", batch*patches, patches, -1)
	for i := range batch * patches {
		at.Positions.Ints()[i] = i % patches
	}
	images, labels := at.Value("images", graph.Const(0), batch*patches, pixels), at.Ints("labels", batch, classes, -1)
	patch := nn.NewLinear(at.Sub("patch"), pixels, []int{d.Embd}, true, graph.Normal(0.5))
	x := nn.NewLearnedPositions(at.At("wpe")).Forward(patch.Forward(images)) // (B·T, d)
	x = nn.NewBlock(at.At("h.0"), func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) }).Forward(x)
	x = nn.NewMeanTokens(at.At("mean")).Forward(nn.NewLayerNorm(at.At("ln_f")).Forward(x)) // (B, d)
	logits := nn.NewLinear(at.Sub("head"), d.Embd, []int{classes}, true, graph.Normal(0.02)).Forward(x)
	train, err := graph.Compile(nn.NewCrossEntropy(at.Sub("loss")).Forward(logits, labels), g.Params()...)
	test, err2 := graph.Compile(logits.ArgMax().OneHot(classes).Mul(labels.OneHot(classes)).SumAll())
	adam, err3 := optim.New(g.Params(), optim.AdamW{Beta1: 0.9, Beta2: 0.999})
	rng := rand.New(rand.NewPCG(1, 1))
	for step := 0; step < 200 && err == nil; step++ {
		draw(rng, images.Tensor(), labels.Ints())
		if err = train.Run(); err == nil {
			_, err = adam.Update(train, 0.01*(1-float64(step)/200))
		}
	}
	draw(rng, images.Tensor(), labels.Ints())
	err = errors.Join(err, err2, err3, test.Run())
	fmt.Println(test.Loss(), "of 32 new images are told right, error:", err)
	// Output: 32 of 32 new images are told right, error: <nil>
}

// draw draws noisy images of a line at a random place: horizontal, vertical or along one of the diagonals.
func draw(rng *rand.Rand, images graph.Tensor, labels []int) {
	for b := range labels {
		kind, at := rng.IntN(4), rng.IntN(8)
		for i := range 64 {
			images.Set(b*64+i, 0.2*rng.NormFloat64())
		}
		for i := range 8 {
			row, col := []int{at, i, i, i}[kind], []int{i, at, (at + i) % 8, (at + 8 - i) % 8}[kind]
			images.Set(b*64+(row/2*4+col/2)*4+row%2*2+col%2, 1)
		}
		labels[b] = kind
	}
}
