package cases

import (
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// tiles returns Cases that compare attention with formulas that process the scores in tiles, as the kernel does.
func tiles[T hand.Number]() []entry[T] {
	return []entry[T]{{
		verify.Entry{ID: "I44", What: "attention in tiles", Source: "Xu (79)–(84), errata X1, X14"},
		[]formula[T]{
			flash[T]("causal attention in tiles", causal(), 4, 2),
			flash[T]("attention without a mask in tiles", unmasked(), 1, 5),
		},
	}}
}

func flash[T hand.Number](name string, s sight, queries, keys int) formula[T] {
	c := self[T](selfAttention{name: name, source: "Xu (69)–(84), errata X1, X1b, X14", sight: s})
	return formula[T]{c.Case, tiled[T](s, queries, keys)}
}

func tiled[T hand.Number](s sight, queries, keys int) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		head := func(b, h int) hand.Head[T] {
			return hand.Flash[T]{Mask: s.mask(b, h), Queries: queries, Keys: keys}
		}
		return attending(at, hand.Heads[T]{Batch: fixture.Batch, Count: fixture.Heads, Head: head})
	}
}
