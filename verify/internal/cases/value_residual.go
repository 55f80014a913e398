package cases

import (
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
		at.Mask, at.Values = s.see(at.Sub("own"), at.Dims), nn.NewValueResidual()
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
