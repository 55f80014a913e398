package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

func gla[T hand.Number]() Variant[T] {
	return Variant[T]{
		Name: "gla", Type: "Recurrence",
		Hand: func(p Place[T]) hand.Layer[T] {
			return p.Site.GLA(p.plan.Batch, p.plan.Heads, p.plan.Heads*p.plan.QK)
		},
		ID: "I104", What: "gated linear attention", Source: "Yang et al. 2023, section 4",
		Settings: []Setting{
			{Name: "gated linear attention"}, {Name: "gated linear attention in the middle of a text", Carry: true},
			{Name: "gated linear attention without biases, with dropout", NoBias: true, Dropout: 0.3},
		},
	}
}

// deltaRule returns the layer by hand of a delta rule, a method of a site.
func deltaRule[T hand.Number](
	at func(at hand.Site[T], batch, heads, qk, length int, rotary hand.Layer[T]) hand.Layer[T],
) func(Place[T]) hand.Layer[T] {
	return func(p Place[T]) hand.Layer[T] {
		return at(p.Site, p.plan.Batch, p.plan.Heads, p.plan.Heads*p.plan.QK, p.side.context, p.rotary())
	}
}

func gatedDeltaNet[T hand.Number]() Variant[T] {
	return Variant[T]{
		Name: "gated_deltanet", Type: "Recurrence",
		Hand: deltaRule(hand.Site[T].GatedDeltaNet),
		ID:   "I105", What: "gated delta rule", Source: "Yang et al. 2024, (10)",
		Settings: []Setting{
			{Name: "gated delta rule"}, {Name: "gated delta rule in the middle of a text", Carry: true},
			{Name: "gated delta rule with rotary positions", Position: "rope", QK: 4},
		},
	}
}

func retNet[T hand.Number]() Variant[T] {
	return Variant[T]{
		Name: "retnet", Type: "Recurrence",
		Hand: func(p Place[T]) hand.Layer[T] {
			return p.Site.RetNet(p.plan.Batch, p.plan.Heads, p.plan.Heads*p.plan.QK, p.rotary())
		},
		ID: "I106", What: "retention", Source: "Sun et al. 2023, (5)",
		Settings: []Setting{
			{Name: "retention"}, {Name: "retention with rotary positions", Position: "rope", QK: 4},
			{Name: "retention in the middle of a text", Carry: true},
		},
	}
}

func deltaNet[T hand.Number]() Variant[T] {
	return Variant[T]{
		Name: "deltanet", Type: "Recurrence",
		Hand: deltaRule(hand.Site[T].DeltaNet),
		ID:   "I107", What: "delta rule", Source: "Yang et al. 2024 (2406.06484)",
		Settings: []Setting{
			{Name: "delta rule"}, {Name: "delta rule without biases", NoBias: true},
			{Name: "delta rule in the middle of a text", Carry: true},
		},
	}
}

func deltaNetNegEigval[T hand.Number]() Variant[T] {
	return Variant[T]{
		Name: "deltanet_neg_eigval", Type: "Recurrence",
		Hand: deltaRule(hand.Site[T].DeltaNetNegEigval),
		ID:   "I119", What: "delta rule with negative eigenvalues", Source: "Grazzi et al. 2024, section 4",
		Settings: []Setting{
			{Name: "delta rule with negative eigenvalues"},
			{Name: "delta rule with negative eigenvalues in the middle of a text", Carry: true},
		},
	}
}

func gatedDeltaNetNegEigval[T hand.Number]() Variant[T] {
	return Variant[T]{
		Name: "gated_deltanet_neg_eigval", Type: "Recurrence",
		Hand: deltaRule(hand.Site[T].GatedDeltaNetNegEigval),
		ID:   "I120", What: "gated delta rule with negative eigenvalues", Source: "Grazzi et al. 2024, section 4",
		Settings: []Setting{
			{Name: "gated delta rule with negative eigenvalues"},
			{Name: "gated delta rule with negative eigenvalues, rotary positions", Position: "rope", QK: 4},
		},
	}
}

func kda[T hand.Number]() Variant[T] {
	return Variant[T]{
		Name: "kda", Type: "Recurrence",
		Hand: func(p Place[T]) hand.Layer[T] {
			return p.Site.KDA(p.plan.Batch, p.plan.Heads, p.plan.Heads*p.plan.QK, p.side.context)
		},
		ID: "I109", What: "Kimi delta attention", Source: "Kimi Team 2025, (1)",
		Settings: []Setting{
			{Name: "Kimi delta attention"}, {Name: "Kimi delta attention in the middle of a text", Carry: true},
			{Name: "Kimi delta attention without biases, with dropout", NoBias: true, Dropout: 0.3},
		},
	}
}

func mamba2[T hand.Number]() Variant[T] {
	groups := func(n int) map[string]int { return map[string]int{"n_groups": n} }
	return Variant[T]{
		Name: "mamba2", Type: "Mamba2",
		Hand: func(p Place[T]) hand.Layer[T] {
			return p.Site.Mamba2(p.plan.Batch, p.plan.Heads, p.plan.option("n_groups"), p.plan.Heads*p.plan.QK,
				p.side.context, p.rotary())
		},
		ID: "I111", What: "state space duality of Mamba-2", Source: "Dao and Gu 2024, section 7.1",
		Settings: []Setting{
			{Name: "Mamba-2, two groups of heads", Heads: 4, Options: groups(2)},
			{Name: "Mamba-2 without biases, with dropout", NoBias: true, Dropout: 0.3, Options: groups(1)},
			{
				Name: "Mamba-2 with rotary positions", Heads: 3, QK: 4, Position: "rope",
				Options: groups(1),
			},
			{Name: "Mamba-2 in the middle of a text", Heads: 4, Options: groups(2), Carry: true},
		},
	}
}

func minGRU[T hand.Number]() Variant[T] {
	return Variant[T]{
		Name: "mingru", Type: "MinGRU",
		Hand: func(p Place[T]) hand.Layer[T] { return p.Site.MinGRU(p.plan.Batch) },
		ID:   "I112", What: "minimal gated recurrent unit", Source: "Feng et al. 2024, section 3.1",
		Settings: []Setting{
			{Name: "minimal GRU"}, {Name: "minimal GRU without biases, with dropout", NoBias: true, Dropout: 0.3},
			{Name: "minimal GRU in the middle of a text", Carry: true},
		},
	}
}

func rgLRU[T hand.Number]() Variant[T] {
	return Variant[T]{
		Name: "rglru", Type: "RGLRU",
		Hand: func(p Place[T]) hand.Layer[T] { return p.Site.RGLRU(p.plan.Batch, p.side.context) },
		ID:   "I113", What: "real-gated linear recurrent unit", Source: "De et al. 2024, (1)–(4)",
		Settings: []Setting{
			{Name: "real-gated linear recurrent unit"},
			{Name: "real-gated linear recurrent unit without biases, with dropout", NoBias: true, Dropout: 0.3},
			{Name: "real-gated linear recurrent unit in the middle of a text", Carry: true},
		},
	}
}
