package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

func diff[T hand.Number]() Variant[T] {
	const pairs = 4 // heads
	return Variant[T]{
		Name: "diff", Type: "DiffAttention", Hand: diffAttention[T],
		ID: "I108", What: "differential attention", Source: "Ye et al. 2024",
		Settings: []Setting{
			{Name: "differential attention", Heads: pairs},
			{Name: "differential attention with rotary positions", Heads: 2, QK: 4, Position: "rope"},
			{Name: "differential attention with alibi, no biases", Heads: pairs, Position: "alibi", NoBias: true},
			{Name: "differential attention with dropout", Heads: pairs, Dropout: 0.3},
			{Name: "differential attention without a mask", Heads: 2, Sight: All},
		},
	}
}

func diffAttention[T hand.Number](p Place[T]) hand.Layer[T] {
	heads := softmax(p, causal)
	return p.Site.DiffAttention(heads, heads.Count*p.plan.QK, p.rotary(), p.Site.Difference(heads.Count/2, p.block))
}
