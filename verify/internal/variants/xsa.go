package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

// xsas lists exclusive self-attention.
func xsas[T hand.Number]() []Variant[T] {
	attention := func(p Place[T]) hand.Layer[T] { return p.layer("attention", p.plan.Attention) }
	links := func(at hand.Site[T], heads hand.Heads[T], value string) hand.Chain[T] {
		return hand.Chain[T]{hand.XSA[T]{Heads: heads, Value: value, Lambda: at.Optional("xsa_lambda")}}
	}
	return []Variant[T]{
		{Name: none, Hand: attention},
		{
			Name: "plain", Type: "XSA", Hand: attention, After: links,
			ID: "I121", What: "exclusive self-attention", Source: "arXiv:2603.09078",
			Settings: []Setting{
				{Name: "exclusive attention", Attention: "causal"},
				{Name: "exclusive attention of groups", Attention: "gqa", Heads: groupedHeads, Position: "rope", QK: 4,
					Options: map[string]int{"n_kv_head": 3}},
				{Name: "exclusive differential attention", Attention: "diff", Heads: 4, Dropout: 0.3},
			},
		},
		{
			Name: "learned", Type: "XSA", Hand: attention, After: links, ID: "I121", Source: "arXiv:2603.09078",
			Settings: []Setting{
				{Name: "exclusive attention by a learned share", Attention: "sigmoid", NoBias: true},
				{Name: "exclusive attention that forgets, by a learned share", Attention: "forgetting"},
			},
		},
	}
}
