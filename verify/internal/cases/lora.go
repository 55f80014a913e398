package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func adapters[T hand.Number](n fixture.Sizes) []entry[T] {
	qk, v := n.Heads*n.QK, n.Heads*n.Values
	one := func(name string, frozen ...string) formula[T] {
		return adapter(n, name, "mlp.c_fc", []int{n.Hidden}, frozen, adapted[T])
	}
	source := "Boué (43)–(46), errata B3, B4"
	return []entry[T]{{verify.Entry{ID: "I26", What: "LoRA", Source: source}, []formula[T]{
		one("adapter"),
		one("adapter over a frozen base", "mlp.c_fc.weight", "mlp.c_fc.bias"),
		adapter(n, "an adapter each for queries, keys and values", "attn.c_attn", []int{qk, qk, v}, nil,
			adaptedParts[T](qk)),
	}}}
}

const scale = 0.7 // of the adapters

// adapter returns a Case of a linear layer with an adapter. A frozen base has no gradient of its own; Δ goes back
// through it all the same.
func adapter[T hand.Number](n fixture.Sizes, name, path string, out []int, frozen []string, l layer[T]) formula[T] {
	return formula[T]{verify.Case{
		Name: name, Types: []string{"LoRA"}, Source: "Boué (43)–(46), erratum B3", Frozen: frozen,
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			affine := nn.NewLoRA(func(string) bool { return true }, n.Rank, scale)
			return affine(at.Sub("%s", path), at.Embd, out, true, graph.Const(0)).Forward(x)
		},
	}, l}
}

func adapted[T hand.Number](at hand.Site[T]) hand.Layer[T] {
	at.LoRAScale = scale
	return sequence[T]{{"mlp.c_fc", at.At("mlp.c_fc").Linear()}}
}

func adaptedParts[T hand.Number](qk int) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		at.LoRAScale = scale
		return sequence[T]{{"attn.c_attn", at.At("attn.c_attn").Packed(qk, qk)}}
	}
}
