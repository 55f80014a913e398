//go:build !race

package graph_test

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	G "gorgonia.org/gorgonia"
)

// swish is a user-defined activation in Gorgonia's own operations: x·σ(x).
type swish struct{}

func (swish) Forward(x graph.Expr) graph.Expr {
	gate := x.Wrap(G.Sigmoid(x.Node()))
	return x.Wrap(G.HadamardProd(x.Node(), gate.Node()))
}

// trained returns a training step of a model of four blocks, one of them with the given activation.
func trained(t *testing.T, act nn.Layer, recompute bool) (*graph.Graph, *graph.Program) {
	t.Helper()
	d := nn.Dims{Batch: 4, Context: 32, Embd: 48, Heads: 4, QK: 12, V: 12, Inner: 192, Blocks: 4}
	const vocabulary = 19
	var p *graph.Program
	g, err := graph.Build(graph.Float32, 3, func(g *graph.Graph) (err error) {
		root := g.Root()
		at := nn.Site{
			Scope: root, Dims: d, Style: nn.Style{Affine: nn.NewLinear, Bias: true, Eps: 1e-5, Dropout: 0.1},
			Attending: nn.Attending{Mask: nn.NewMask(root, d, nn.Causal{})},
		}
		n := d.Batch * d.Context
		tokens, targets := root.Ints("tokens", n, vocabulary, -1), root.Ints("targets", n, vocabulary, -1)
		for i := range n {
			tokens.Ints()[i], targets.Ints()[i] = i*7%vocabulary, i*5%vocabulary
		}
		x := nn.NewEmbedding(root.Sub("wte"), vocabulary, d.Embd).Forward(tokens)
		places := []string{"h.0", "h.1", "h.2", "h.3"}
		for i, place := range places {
			at := at.At(place)
			at.Act = nn.GELU{}
			if i == 2 {
				at.Act = act
			}
			x = nn.NewBlock(at, func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) }).Forward(x)
		}
		head := nn.NewLinear(root.Sub("lm_head"), d.Embd, []int{vocabulary}, false, graph.Normal(0.02))
		if recompute {
			g.Recompute(places...)
		}
		loss := nn.NewCrossEntropy(root.Sub("loss")).Forward(head.Forward(x), targets)
		p, err = graph.Compile(loss, g.Params()...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return g, p
}

// Recompute handles Gorgonia's operations like kernels: the same bits in less memory.
func TestStockLayerRecompute(t *testing.T) {
	g, want := trained(t, swish{}, false)
	again, p := trained(t, swish{}, true)
	if math.Float64bits(p.Loss()) != math.Float64bits(want.Loss()) {
		t.Errorf("loss %v, without recomputation %v", p.Loss(), want.Loss())
	}
	for i, x := range again.Params() {
		if !slices.Equal(p.Grad(x).F32, want.Grad(g.Params()[i]).F32) {
			t.Errorf("the gradient of %s differs", x.Name())
		}
	}
	if got, limit := again.Bytes(), g.Bytes()*2/3; got > limit {
		t.Errorf("%d bytes with recomputation, %d without", got, g.Bytes())
	}
}

// In a model of kernels, a layer of Gorgonia's operations adds only its own intermediate results, both to the planned
// memory and to the allocations of a run.
func TestStockLayerMemory(t *testing.T) {
	kernels, _ := trained(t, nn.GELU{}, false)
	g, p := trained(t, swish{}, false)
	if len(p.Stock()) == 0 {
		t.Fatal("no operation is Gorgonia's")
	}
	planned, allocated := g.Bytes(), math.MaxInt
	for range 3 { // the least: the runtime allocates too
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		allocated = min(allocated, int(after.TotalAlloc-before.TotalAlloc))
	}
	t.Log(planned, kernels.Bytes(), allocated, p.Stock())
	if limit := kernels.Bytes() * 6 / 5; planned+allocated > limit {
		t.Errorf("%d bytes planned and %d allocated in a run, more than 1.2 times the %d of a model of kernels",
			planned, allocated, kernels.Bytes())
	}
}
