package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

func linear[T hand.Number]() Variant[T] {
	return Variant[T]{
		Name: "linear", Type: "LinearAttention",
		Hand: features(func(hand.Site[T]) hand.Layer[T] { return hand.EluPlusOne[T]{} }),
		ID:   "I45", What: "linear attention", Source: "Conti (15)–(17)",
		Settings: []Setting{
			{Name: "linear attention"},
			{Name: "linear attention without a mask", Sight: All},
			{Name: "linear attention with padding", Sight: Padded},
			{Name: "causal linear attention with padding", Sight: CausalPadded},
			{Name: "linear attention with dropout", Dropout: 0.3},
		},
	}
}

func taylor[T hand.Number]() Variant[T] {
	const source = "Conti 2.1.2, errata C5"
	return Variant[T]{
		Name: "taylor", Type: "TaylorAttention",
		Hand: features(func(at hand.Site[T]) hand.Layer[T] { return hand.TaylorFeatures[T]{Eps: at.Eps} }),
		ID:   "I46", What: "first-order Taylor attention", Source: "Conti section 2.1.2, erratum C5",
		Settings: []Setting{
			{Name: "taylor attention", Source: source},
			{Name: "taylor attention without a mask", Source: source, Sight: All},
			{Name: "taylor attention with padding", Source: source, Sight: Padded},
			{Name: "causal taylor attention with padding", Source: source, Sight: CausalPadded},
		},
	}
}

// features returns attention that is linear in products of features.
func features[T hand.Number](phi func(at hand.Site[T]) hand.Layer[T]) func(p Place[T]) hand.Layer[T] {
	return func(p Place[T]) hand.Layer[T] {
		return p.project(hand.Heads[T]{Batch: p.plan.Batch, Count: p.plan.Heads, Head: func(b, h int) hand.Head[T] {
			return hand.LinearAttention[T]{Features: phi(p.Site), See: p.mask(causal, b, h).Exp()}
		}})
	}
}
