package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

// heads lists the layers that compute logits. Their Cases are in verify/internal/cases.
func heads[T hand.Number]() []Variant[T] {
	return []Variant[T]{
		{Name: "linear", Type: "Linear", ID: "I10", Hand: func(p Place[T]) hand.Layer[T] {
			return p.Site.At("lm_head").Linear()
		}},
		{Name: "linear_no_bias", Type: "Linear", ID: "I10", Hand: func(p Place[T]) hand.Layer[T] {
			return p.Site.At("lm_head").Linear()
		}},
		{Name: "tied", Type: "Tied", ID: "I27", Hand: func(p Place[T]) hand.Layer[T] {
			return hand.Tied[T]{Embedding: p.Site.At("wte").Param("weight")}
		}},
	}
}
