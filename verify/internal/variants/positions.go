package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

// positions lists the layers that are applied to the embedded tokens. Other positions rotate queries and keys, or are
// part of the mask. Their Cases are in verify/internal/cases.
func positions[T hand.Number]() []Variant[T] {
	none := func(Place[T]) hand.Layer[T] { return nil }
	return []Variant[T]{
		{Name: "learned", Type: "LearnedPositions", ID: "I05", Hand: learned[T]},
		{Name: "sinusoidal", Type: "Sinusoidal", ID: "I06", Hand: sinusoidal[T]},
		{Name: "rope", Type: "RoPE", ID: "I08", Hand: none},
		{Name: "alibi", Type: "SelfAttention", ID: "I07", Hand: none},
		{Name: "none", Hand: none},
	}
}

func learned[T hand.Number](p Place[T]) hand.Layer[T] {
	weight := p.Site.At("wpe").Param("weight")
	return hand.LearnedPositions[T]{Weight: weight, Positions: p.positions()}
}

func sinusoidal[T hand.Number](p Place[T]) hand.Layer[T] {
	waves := hand.Sinusoids(p.side.context, p.Site.At("wte").Param("weight").Cols, 10000)
	return hand.Sinusoidal[T]{Waves: waves, Positions: p.positions()}
}

func (p Place[T]) positions() []int { return hand.Positions(p.plan.Batch, p.side.context) }
