package cases

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
)

// softcaps returns the entry of capped scores, for every kind of attention that has them.
func softcaps[T hand.Number](n fixture.Sizes) []entry[T] {
	e := entry[T]{Entry: verify.Entry{
		ID: "I80", What: "capped scores of attention", Source: "Gemma Team 2024 (Gemma 2), section 2",
	}}
	list := variants.List[T]()
	add := func(attention string, s variants.Setting) {
		i := slices.IndexFunc(list, func(v variants.Variant[T]) bool {
			return v.Kind == "attention" && v.Name == attention
		})
		s.Source = e.Source
		e.formulas = append(e.formulas, derive(n, list[i], s))
	}
	add("causal", variants.Setting{Name: "capped attention", Cap: 0.7})
	add("causal", variants.Setting{Name: "capped attention without a mask", Cap: 3, Sight: variants.All, Dropout: 0.3})
	add("causal", variants.Setting{Name: "capped attention with linear biases", Cap: 0.4, Position: "alibi"})
	add("gqa", variants.Setting{
		Name: "capped grouped attention", Cap: 0.5, Heads: 6, Options: map[string]int{"n_kv_head": 3},
	})
	add("longformer", variants.Setting{Name: "capped longformer", Cap: 0.6, Options: map[string]int{
		"window": 2, "global_tokens": 1, "dilation": 2,
	}})
	return []entry[T]{e}
}
