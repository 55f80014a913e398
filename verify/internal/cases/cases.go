// Package cases compares the layers of nn with formulas by hand. It lists what the papers describe, entry by entry,
// with the Cases that certify each: the Cases of verify/internal/variants, and of layers and settings that no
// configuration names, in one file per family of layers. Every family is generic in the numbers of its formulas.
package cases

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// All returns the Cases of every entry. Each exported type of nn with a Forward is in at least one of them.
func All() (list []verify.Case) {
	for _, e := range At(fixture.Default()) {
		list = append(list, e.Cases...)
	}
	return list
}

// At returns the entries sorted by ID, the order in which a model is built, trained and used, with Cases of the given
// sizes. Entries from I60 on come from none of the five papers.
func At(n fixture.Sizes) (list []verify.Entry) {
	step := entries[complex128](n)
	for i, e := range entries[float64](n) {
		list = append(list, e.Entry)
		for k, real := range e.formulas {
			c := byHand(n, real.Case, real.layer, step[i].formulas[k].layer)
			c.ID = e.ID
			list[i].Cases = append(list[i].Cases, c)
		}
	}
	return list
}

// entry is an entry of the inventory whose Cases have not yet their formulas.
type entry[T hand.Number] struct {
	verify.Entry
	formulas []formula[T]
}

// formula is a Case and its layer by hand, for one kind of numbers.
type formula[T hand.Number] struct {
	verify.Case
	layer layer[T]
}

// entries returns the entries sorted by ID: the entries of the variants and of the families, where an ID in both has
// the Cases of both.
func entries[T hand.Number](n fixture.Sizes) (list []entry[T]) {
	for _, e := range slices.Concat(ofVariants[T](n), families[T](n)) {
		i := slices.IndexFunc(list, func(known entry[T]) bool { return known.ID == e.ID })
		if i < 0 {
			list = append(list, e)
			continue
		}
		known := &list[i]
		known.What, known.Source = cmp.Or(known.What, e.What), cmp.Or(known.Source, e.Source)
		known.Tests = append(known.Tests, e.Tests...)
		known.formulas = append(known.formulas, e.formulas...)
	}
	slices.SortFunc(list, func(a, b entry[T]) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// families returns the entries of layers and settings that no configuration names.
func families[T hand.Number](n fixture.Sizes) []entry[T] {
	list := slices.Concat(
		losses[T](n), embeddings[T](n), positions[T](n), biases[T](n), rotations[T](n), linears[T](), unprojected[T](n),
		masks[T](n), crossAttentions[T](n), adapters[T](n), dropouts[T](n), pairs[T](n), recurrences[T](n),
		latents[T](n), tiles[T](n), linformers[T](n), rewards[T](n), pooled[T](n), pairedLosses[T](), softcaps[T](n),
		scaled[T](n), valueResiduals[T](n), skips[T](n), routers[T](n),
	)
	for _, e := range list {
		for i := range e.formulas {
			certify(&e.formulas[i].Case, e.ID, false)
		}
	}
	for _, e := range claims() {
		list = append(list, entry[T]{Entry: e})
	}
	return list
}

type matrix = hand.Matrix[float64]

const input = "x"

// layer builds a layer by hand from the parameters of a Case.
type layer[T hand.Number] func(at hand.Site[T]) hand.Layer[T]

// fixed returns a layer without parameters.
func fixed[T hand.Number](l hand.Layer[T]) layer[T] {
	return func(hand.Site[T]) hand.Layer[T] { return l }
}
