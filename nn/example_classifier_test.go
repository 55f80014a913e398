package nn_test

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// This is a small Vision Transformer (Dosovitskiy et al. 2020). An image of 8×8 pixels is 16 tokens, patches of 2×2,
// embedded by a linear layer. Every patch attends to every other one, and their mean classifies the image.
func Example_classifier() {
	const batch, patches, pixels, classes = 32, 16, 4, 4
	g := graph.New(graph.Float32, 1)
	d := nn.Dims{Batch: batch, Context: patches, Embd: 16, Heads: 2, QK: 8, V: 8, Inner: 32, Blocks: 1}
	at := nn.Site{Scope: g.Root(), Dims: d, Eps: 1e-5, Act: nn.GELU{}, Mask: nn.NewMask(g.Root(), d, nn.All{})}
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
