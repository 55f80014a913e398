package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

// qkNorms lists the norms of queries and keys. The attentions by hand apply the norm whose gains are among their
// parameters.
func qkNorms[T hand.Number]() []Variant[T] {
	normed := func(p Place[T]) hand.Layer[T] { return p.layer("attention", p.plan.Attention) }
	return []Variant[T]{
		{Name: none, Hand: normed},
		{
			Name: "head", Type: "QKNorm", Hand: normed,
			ID: "I75", What: "norms of queries and keys", Source: "Henry et al. 2020, Dehghani et al. 2023",
			Settings: []Setting{
				{Name: "attention with norms of queries and keys", Attention: "causal"},
				{Name: "attention with norms and rotary positions", Attention: "causal", Position: "rope", QK: 4},
				{
					Name: "grouped attention with norms", Attention: "gqa_bias", Heads: groupedHeads,
					Options: map[string]int{"n_kv_head": 2},
				},
				{Name: "taylor attention with norms", Attention: "taylor"},
				{
					Name: "longformer with norms", Attention: "longformer",
					Options: map[string]int{"window": 2, "dilation": 1, "global_tokens": 1},
				},
			},
		},
		{
			Name: "width", Type: "QKNorm", Hand: normed, ID: "I75", Source: "Team OLMo 2024",
			Settings: []Setting{
				{Name: "attention with norms over all heads", Attention: "causal", NoBias: true},
				{
					Name: "grouped attention with norms over all heads", Attention: "gqa", Heads: groupedHeads,
					Options: map[string]int{"n_kv_head": 3}, Dropout: 0.3,
				},
			},
		},
	}
}

// attnSinks lists the sinks of heads. The attentions by hand have those that are among their parameters.
func attnSinks[T hand.Number]() []Variant[T] {
	sunk := func(p Place[T]) hand.Layer[T] { return p.layer("attention", p.plan.Attention) }
	return []Variant[T]{
		{Name: none, Hand: sunk},
		{
			Name: "learned", Type: "SelfAttention", Hand: sunk,
			ID: "I81", What: "sinks of heads", Source: "OpenAI 2025, Xiao et al. 2023 (section 3.2)",
			Settings: []Setting{
				{Name: "attention with sinks", Attention: "causal"},
				{
					Name: "attention with sinks and dropout, without a mask", Attention: "causal",
					Sight: All, Dropout: 0.3,
				},
				{
					Name: "attention with sinks in a window", Attention: "window", NoBias: true,
					Options: map[string]int{"window": 3},
				},
				{
					Name: "capped attention with sinks and rotary positions", Attention: "causal",
					Cap: 0.7, Position: "rope", QK: 4,
				},
				{
					Name: "grouped attention with sinks", Attention: "gqa", Heads: groupedHeads, Position: "alibi",
					Options: map[string]int{"n_kv_head": 3},
				},
			},
		},
	}
}

// attnGates lists the gates of the results of heads. The attentions by hand apply the gate that is among their
// parameters.
func attnGates[T hand.Number]() []Variant[T] {
	gated := func(p Place[T]) hand.Layer[T] { return p.layer("attention", p.plan.Attention) }
	return []Variant[T]{
		{Name: none, Hand: gated},
		{
			Name: "elementwise", Type: "Gate", Hand: gated,
			ID: "I76", What: "gates of the results of heads", Source: "Qiu et al. 2025",
			Settings: []Setting{
				{Name: "attention with a gate of each feature", Attention: "causal"},
				{Name: "sigmoid attention with a gate of each feature", Attention: "sigmoid", NoBias: true},
			},
		},
		{
			Name: "headwise", Type: "Gate", Hand: gated, ID: "I76", Source: "Qiu et al. 2025",
			Settings: []Setting{
				{Name: "attention with a gate of each head", Attention: "causal", Dropout: 0.3},
				{
					Name: "grouped attention with a gate of each head", Attention: "gqa", Heads: groupedHeads,
					Options: map[string]int{"n_kv_head": 3},
				},
			},
		},
	}
}
