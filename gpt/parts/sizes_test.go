package parts

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// The inner width is four times the outer one, if that is a valid size.
func TestInnerSize(t *testing.T) {
	for embd, want := range map[int]int{-1: 0, 0: 0, 1: 4, 7: 28, field.MaxSize: 4 * field.MaxSize} {
		if got := (Registry{}).Design(Stack{NEmbd: embd}).Stack.NInner; got != want {
			t.Errorf("n_embd %d: got n_inner %d, want %d", embd, got, want)
		}
	}
}

// An MLP holds two numbers for each of its features, before and after the activation; one with a gate also holds the
// gate's. This includes user-defined MLPs, whatever their name and however they declare their matrices.
func TestInside(t *testing.T) {
	own := func(name Name, declare func(at nn.Site)) MLP {
		return MLP{Name: name, New: func(at nn.Site) nn.Layer { declare(at); return nn.NewMLP(at) }}
	}
	known := Registry{MLPs: []MLP{
		own("gated", func(at nn.Site) { at.Affine(at.Sub("c_gate"), at.Embd, []int{at.Inner}, true, graph.Const(0)) }),
		own("bare gate", func(at nn.Site) { at.Param("gate", graph.Const(0), at.Embd, at.Inner) }),
		own("vector", func(at nn.Site) { at.Param("gain", graph.Const(0), at.Inner) }),
	}}.WithLibrary()
	for mlp, want := range map[string]float64{
		"": 4*3 + 2*7, "mlp": 4*3 + 2*7, "swiglu": 4*3 + 3*7, "gated": 4*3 + 3*7, "bare gate": 4*3 +
			3*7, "vector": 4*3 + 2*7,
	} {
		d := known.Design(Stack{NLayer: 1, NHead: 1, NEmbd: 3, NInner: 7, MLP: mlp})
		if got := d.Inside(5); got != want {
			t.Errorf("%s: got %v numbers, want %v", mlp, got, want)
		}
	}
}

// Sinusoidal positions rotate by 1/10000^(2k/d), as published.
func TestSinusoidalBase(t *testing.T) {
	at := nn.Site{Scope: graph.New(graph.Float64, 1).Root(), Dims: nn.Dims{Batch: 1, Context: 3, Embd: 4}}
	at.Positions = at.Ints("positions", 3, 3, -1)
	p := sinusoidal(at, Stack{}).Layer.(*nn.Sinusoidal).P.Tensor()
	for i, want := range []float64{math.Sin(1), math.Cos(1), math.Sin(0.01), math.Cos(0.01)} {
		if got := p.At(4 + i); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("feature %d of position 1: got %v, want %v", i, got, want)
		}
	}
}

// The random keys of BigBird come from seed 1 in every model, so that a loaded checkpoint has the ones with which it
// was trained.
func TestBigBirdSeed(t *testing.T) {
	d := nn.Dims{Batch: 1, Context: 40, Embd: 4, Heads: 1, QK: 2, V: 2, Blocks: 1}
	mask := func(seed uint64, build func(at nn.Site)) []float64 {
		g := graph.New(graph.Float64, seed)
		at := nn.Site{Scope: g.Root(), Dims: d, Style: nn.Style{Affine: nn.NewLinear}}
		at.Mask = nn.NewMask(at.Sub("whole"), d, nn.Causal{})
		build(at)
		x, ok := g.Leaf("visible.mask")
		if err := g.Err(); err != nil || !ok {
			t.Fatalf("no mask, %v", err)
		}
		return x.Tensor().Floats()
	}
	var s Stack
	s.Options.Set("window", 2)
	s.Options.Set("global_tokens", 1)
	s.Options.Set("random_keys", 3)
	got := mask(5, func(at nn.Site) { bigBird(at, s)(at) })
	want := mask(6, func(at nn.Site) {
		nn.NewMask(
			at.Sub("visible"), d,
			nn.All{nn.Causal{}, nn.BigBird{Width: bothSides(s.Options), Global: first(s.Options), Random: 3, Seed: 1}},
		).Expr()
	})
	for i, v := range want {
		if got[i] != v {
			t.Fatalf("query %d, key %d: got %v, want %v", i/40, i%40, got[i], v)
		}
	}
}
