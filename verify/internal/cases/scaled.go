package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// The factors of the Cases of parametrizations.
const in, out, onQueries = 0.3, 1.7, 0.6

func scaled[T hand.Number](n fixture.Sizes) []entry[T] {
	source := "Yang et al. 2022, table 8 and definition 4.1; Yang et al. 2023"
	qk, v := n.Heads*n.QK, n.Heads*n.Values
	return []entry[T]{{verify.Entry{ID: "I69", What: "factors of a parametrization", Source: source}, []formula[T]{
		{verify.Case{
			Name: "linear between factors", Types: []string{"Scaled"}, Source: "Yang et al. 2022, table 8",
			Build: func(at nn.Site, x graph.Expr) graph.Expr {
				linear := nn.NewLinear(at.Scope, at.Embd, []int{at.Inner}, true, graph.Const(0))
				return nn.NewScaled(at.Scope, linear, in, out).Forward(x)
			},
		}, func(at hand.Site[T]) hand.Layer[T] { return hand.Scaled[T]{Layer: at.Linear(), In: in, Out: out} }},
		attentionBetween[T](n, qk),
		{verify.Case{
			Name: "factor on queries", Types: []string{"ScaledQueries"}, Source: "Yang et al. 2022, definition 4.1",
			Build: func(at nn.Site, x graph.Expr) graph.Expr {
				affine := nn.NewScaledQueries(nn.NewLinear, onQueries)
				return affine(at.Scope, at.Embd, []int{qk, qk, v}, true, graph.Const(0)).Forward(x)
			},
		}, func(at hand.Site[T]) hand.Layer[T] {
			return hand.ScaledQueries[T]{QKV: at.Packed(qk, qk), QK: qk, Factor: onQueries}
		}},
	}}}
}

// attentionBetween returns the Case of attention, which has a Step, between factors.
func attentionBetween[T hand.Number](n fixture.Sizes, qk int) formula[T] {
	s := causal(n)
	c := verify.Case{Name: "attention between factors", Types: []string{"Scaled"}, Source: "Yang et al. 2023"}
	c = s.built(c, func(at nn.Site) nn.Layer {
		at.Mask = s.see(at.Sub("own"), at.Dims)
		at = at.At("attn")
		return nn.NewScaled(at.Scope, nn.NewSelfAttention(at), in, out)
	})
	return formula[T]{c, func(at hand.Site[T]) hand.Layer[T] {
		attention := at.At("attn").SelfAttention(softmax(n, at, s.mask), qk, nil)
		return sequence[T]{{"attn", hand.Scaled[T]{Layer: attention, In: in, Out: out}}}
	}}
}
