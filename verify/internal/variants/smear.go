package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

// smears lists ways to mix a token with the token before it.
func smears[T hand.Number]() []Variant[T] {
	learned := func(p Place[T]) hand.Embedder[T] {
		at := p.Site.At("smear")
		return hand.Smear[T]{
			Weight: at.Param("weight"), Lambda: at.Param("lambda"),
			Length: p.side.context, Before: at.Optional("state"),
		}
	}
	return []Variant[T]{
		{Name: none},
		{
			Name: "learned", Type: "Smear", Embed: learned, ID: "I122", What: "token shift of the embeddings",
			Source: "nanochat", Settings: []Setting{
				{Name: "smear with a gate of some features", Embd: 27},
				{Name: "smear with a gate of all features, in the middle of a text", Carry: true},
			},
		},
	}
}
