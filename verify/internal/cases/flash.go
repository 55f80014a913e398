package cases

import (
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// tiles returns Cases that compare attention with formulas that process the scores in tiles, as the kernel does.
func tiles[T hand.Number](n fixture.Sizes) []entry[T] {
	return []entry[T]{{
		verify.Entry{ID: "I44", What: "attention in tiles", Source: "Xu (79)–(84), errata X1, X14"},
		[]formula[T]{
			flash[T](n, "causal attention in tiles", causal(n), 4, 2),
			flash[T](n, "attention without a mask in tiles", unmasked(), 1, 5),
		},
	}}
}

func flash[T hand.Number](n fixture.Sizes, name string, s sight, queries, keys int) formula[T] {
	c := self[T](n, selfAttention{name: name, source: "Xu (69)–(84), errata X1, X1b, X14", sight: s})
	return formula[T]{c.Case, tiled[T](n, s, queries, keys)}
}

func tiled[T hand.Number](n fixture.Sizes, s sight, queries, keys int) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		head := func(b, h int) hand.Head[T] {
			return hand.Flash[T]{Mask: s.mask(b, h), Queries: queries, Keys: keys}
		}
		return attending(n, at, hand.Heads[T]{Batch: n.Batch, Count: n.Heads, Head: head})
	}
}
