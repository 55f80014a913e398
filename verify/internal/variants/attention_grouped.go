package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

const groupedHeads = 6

func gqa[T hand.Number]() Variant[T] {
	groups := func(n int) map[string]int { return map[string]int{"n_kv_head": n} }
	return Variant[T]{
		Name: "gqa", Type: "GroupedAttention", Hand: grouped[T],
		ID: "I66", What: "grouped-query and multi-query attention", Source: "Ainslie et al. 2023, Shazeer 2019",
		Settings: []Setting{
			{Name: "grouped attention, three groups", Heads: groupedHeads, Options: groups(3)},
			{Name: "grouped attention with dropout", Heads: groupedHeads, Options: groups(2), Dropout: 0.3},
			{
				Name: "grouped attention with linear biases", Heads: groupedHeads, Options: groups(2),
				Position: "alibi", NoBias: true,
			},
			{Name: "multi-query attention", Heads: groupedHeads, Options: groups(1)},
		},
	}
}

func gqaBias[T hand.Number]() Variant[T] {
	return Variant[T]{
		Name: "gqa_bias", Type: "GroupedAttention", Hand: grouped[T],
		ID: "I66", Source: "Ainslie et al. 2023, Shazeer 2019",
		Settings: []Setting{
			{
				Name: "grouped attention with biases on q, k, v alone", Heads: groupedHeads,
				Options: map[string]int{"n_kv_head": 2},
			},
			{
				Name: "grouped attention with rotary positions", Heads: groupedHeads, QK: 4, Position: "rope",
				Options: map[string]int{"n_kv_head": 3},
			},
		},
	}
}

func gqaWindow[T hand.Number]() Variant[T] {
	return Variant[T]{
		Name: "gqa_window", Type: "GroupedAttention", Hand: groupedUnder[T](groupWindow),
		ID: "I66", Source: "Ainslie et al. 2023; Jiang et al. 2023, section 2",
		Settings: []Setting{
			{
				Name: "grouped attention in a window", Heads: groupedHeads,
				Options: map[string]int{"n_kv_head": 2, "window": 3},
			},
			{
				Name: "grouped attention of a block without its window", Heads: groupedHeads,
				Options: map[string]int{"n_kv_head": 3, "window": 2, "full_attention_interval": 1},
			},
		},
	}
}

// grouped returns attention whose heads share keys and values. It has the biases that the parameters contain.
func grouped[T hand.Number](p Place[T]) hand.Layer[T] { return groupedUnder[T](causal)(p) }

// groupedUnder is grouped under a mask.
func groupedUnder[T hand.Number](see mask) func(p Place[T]) hand.Layer[T] {
	return func(p Place[T]) hand.Layer[T] {
		heads := softmax(p, see)
		heads.Groups = p.plan.option("n_kv_head")
		return p.project(heads)
	}
}
