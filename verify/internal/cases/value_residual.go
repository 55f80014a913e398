package cases

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// valueResiduals returns the entry of three attentions in turn, of which the later ones mix the values of the first.
func valueResiduals[T hand.Number](n fixture.Sizes) []entry[T] {
	s, qk := causal(n), n.Heads*n.QK
	const source = "Zhou et al. 2024"
	c := verify.Case{Name: "attentions that mix the first values", Types: []string{"SelfAttention"}, Source: source}
	c = s.built(c, func(at nn.Site) nn.Layer {
		at.Mask, at.Links.Before = s.see(at.Sub("own"), at.Dims), []nn.NamedLink{nn.NewValueResidual()}
		var l inTurn
		for i, name := range blockNames {
			at := at.At(name)
			at.Block = i
			l = append(l, nn.NewSelfAttention(at))
		}
		return l
	})
	return []entry[T]{{
		verify.Entry{ID: "I92", What: "mixing with the values of the first block", Source: source},
		[]formula[T]{{c, func(at hand.Site[T]) hand.Layer[T] {
			at.Values = new(hand.FirstValues[T])
			var l sequence[T]
			for _, name := range blockNames {
				at := at.At(name)
				l = append(l, named[T]{name, at.SelfAttention(softmax(n, at, s.mask), qk, nil)})
			}
			return l
		}}},
	}}
}

var blockNames = []string{"first", "second", "third"}

// inTurn is layers of the library, one after the other.
type inTurn []nn.Cached

func (l inTurn) Forward(x graph.Expr) graph.Expr {
	for _, l := range l {
		x = l.Forward(x)
	}
	return x
}

func (l inTurn) Step(x, at graph.Expr) graph.Expr {
	for _, l := range l {
		x = l.Step(x, at)
	}
	return x
}

// skips returns the entry of layers in turn that mix their inputs with earlier ones.
func skips[T hand.Number](n fixture.Sizes) []entry[T] {
	const source = "Jordan et al. 2024"
	e := entry[T]{Entry: verify.Entry{ID: "I97", What: "skips of the residual stream", Source: source}}
	for _, kind := range []struct {
		name, from string
		stream     func() nn.Stream
	}{
		{"embedding", "x_0", nn.NewEmbeddingSkips},
		{"unet", "x_1", func() nn.Stream { return nn.NewUNetSkips(len(blockNames)) }},
	} {
		c := verify.Case{
			Name: "layers with a skip: " + kind.name, Types: []string{"Skip", "Linear"},
			Parts: []string{"skips=" + kind.name}, Source: source,
		}
		c = causal(n).built(c, func(at nn.Site) nn.Layer {
			l := skipped{stream: kind.stream()}
			for i, name := range blockNames {
				at := at.At(name)
				at.Block = i
				l.skips = append(l.skips, l.stream.Skip(at))
				l.blocks = append(l.blocks, nn.NewLinear(at.Scope, at.Embd, []int{at.Embd}, true, graph.Normal(1)))
			}
			return l
		})
		e.formulas = append(e.formulas, formula[T]{c, func(at hand.Site[T]) (l hand.Layer[T]) {
			var c hand.Chain[T]
			for i, name := range blockNames {
				at := at.At(name)
				c = append(c, hand.Keep[T]("x", fmt.Sprintf("x_%d", i)))
				if lambda := at.Optional("skip_lambda"); !lambda.None() {
					c = append(c, hand.Skip[T]{Name: name, Lambda: lambda, From: kind.from})
				}
				c = append(c, hand.Apply[T]{Name: name, From: "x", To: "x", Layer: at.Linear()})
			}
			return append(c, hand.Keep[T]("x", "y"))
		}})
	}
	return []entry[T]{e}
}

// skipped is layers in turn with a skip before each.
type skipped struct {
	stream        nn.Stream
	skips, blocks []nn.Layer
}

func (l skipped) Forward(x graph.Expr) graph.Expr {
	x = l.stream.Expand(x)
	for i, block := range l.blocks {
		x = block.Forward(l.skips[i].Forward(x))
	}
	return x
}
